from django.db import migrations, models

# A turn is linked only if both rows say the same, so nothing is lost: a turn that differs keeps what it says.
LINK = """
UPDATE annotation_turn turn
SET utterance_id = utterance.id, action = '', candidate_set_id = NULL, source = NULL, edit_distance = NULL
FROM dialogues_utterance utterance
WHERE turn.undone_at IS NULL AND utterance.dialogue_id = turn.dialogue_id AND utterance.position = turn.position
    AND utterance.action = turn.action
    AND utterance.candidate_set_id IS NOT DISTINCT FROM turn.candidate_set_id
    AND utterance.source IS NOT DISTINCT FROM turn.source
    AND utterance.edit_distance IS NOT DISTINCT FROM turn.edit_distance
"""
UNLINK = """
UPDATE annotation_turn turn
SET utterance_id = NULL, action = utterance.action, candidate_set_id = utterance.candidate_set_id,
    source = utterance.source, edit_distance = utterance.edit_distance
FROM dialogues_utterance utterance
WHERE utterance.id = turn.utterance_id
"""
# PostgreSQL alters no table that has deferred checks waiting.
CHECK_KEYS = "SET CONSTRAINTS ALL IMMEDIATE"


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0013_turn_utterance'),
    ]

    operations = [
        migrations.RunSQL([LINK, CHECK_KEYS], [UNLINK, CHECK_KEYS]),
        migrations.AddConstraint(
            model_name='turn',
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ('utterance', None),
                    models.Q(('action', ''), ('candidate_set', None), ('edit_distance', None), ('source', None)),
                    _connector='OR',
                ),
                name='provenance_is_stored_once',
            ),
        ),
    ]
