from django.db import migrations, models


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
    ]
