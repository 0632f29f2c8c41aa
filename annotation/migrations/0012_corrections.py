from django.db import migrations, models

# When somebody made a revision is not stored, only when it came: what lay in a browser's outbox counts as seen.
MADE_IN_SIGHT = """
UPDATE annotation_submission SET stage = 'correction'
FROM annotation_task task
WHERE task.id = annotation_submission.task_id AND task.overlap > 1
    AND annotation_submission.stage = 'label' AND annotation_submission.revision > 1 AND EXISTS (
        SELECT FROM annotation_finallabel final
        WHERE final.task_id = task.id AND final.decided_at < annotation_submission.stored_at
    )
"""


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0011_epoch_of_authoring'),
    ]

    operations = [
        migrations.AlterField(
            model_name='submission',
            name='stage',
            field=models.CharField(
                choices=[('label', 'Labelled'), ('confirmation', 'Confirmed'), ('correction', 'Corrected')],
                default='label', max_length=12,
            ),
        ),
        migrations.RunSQL(
            MADE_IN_SIGHT, "UPDATE annotation_submission SET stage = 'label' WHERE stage = 'correction'"
        ),
    ]
