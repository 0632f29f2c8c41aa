from django.db import migrations

OWN = """
UPDATE generation_generator SET project_id = model.project_id
FROM preference_registeredmodel model WHERE model.generator_id = generation_generator.id
"""
# Every project could choose every model until now: what is in use stays so.
IN_USE = """
INSERT INTO generation_generator_shared_with (generator_id, project_id)
SELECT DISTINCT generator.id, used.project_id
FROM generation_generator generator
JOIN (
    SELECT generator_id, project_id FROM annotation_authoringsettings
    UNION SELECT second_generator_id, project_id FROM annotation_authoringsettings
    UNION SELECT generator_id, project_id FROM assessment_system
) used ON used.generator_id = generator.id
WHERE generator.project_id IS NOT NULL AND generator.project_id <> used.project_id
ON CONFLICT DO NOTHING
"""


class Migration(migrations.Migration):

    dependencies = [
        ("preference", "0010_assessor_as_evaluator"),
        ("generation", "0005_trained_models_of_one_project"),
        ("annotation", "0009_candidate_order_and_second_model"),
        ("assessment", "0001_initial"),
    ]

    operations = [
        migrations.RunSQL(OWN, migrations.RunSQL.noop),
        migrations.RunSQL(IN_USE, migrations.RunSQL.noop),
    ]
