from django.db import migrations, models

KINDS = [('joint', 'Reply model'), ('paireval', 'PairEval'), ('assessor', 'Assessor')]


class Migration(migrations.Migration):

    dependencies = [
        ('preference', '0006_assessment_format'),
    ]

    operations = [
        migrations.AddField(
            model_name='registeredmodel',
            name='kind',
            field=models.CharField(choices=KINDS, default='joint', max_length=8),
        ),
        migrations.AddField(
            model_name='registeredmodel',
            name='report',
            field=models.JSONField(default=dict),
        ),
        migrations.AddField(
            model_name='trainingrun',
            name='kind',
            field=models.CharField(choices=KINDS, default='joint', max_length=8),
        ),
        migrations.AddField(
            model_name='trainingrun',
            name='options',
            field=models.JSONField(default=dict),
        ),
    ]
