# docker build --target web -t lapidary-web .        pages and API, no torch
# docker build --target worker -t lapidary-worker .  jobs and candidates, torch for the CPU
#   --build-arg TORCH_INDEX=https://download.pytorch.org/whl/cu128   torch for a GPU

FROM python:3.11-slim-bookworm AS base
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PATH=/opt/venv/bin:$PATH LAPIDARY_VAR=/var/lib/lapidary HF_HOME=/var/lib/huggingface LOG_JSON=1
RUN useradd --system --uid 10001 --create-home lapidary \
    && install -d -o lapidary -g lapidary -m 0750 /var/lib/lapidary /var/lib/huggingface
WORKDIR /srv/lapidary

FROM base AS web-packages
# A compiler for packages that have no wheel for this processor; it stays in this stage.
RUN apt-get update && apt-get install --yes --no-install-recommends build-essential && rm -rf /var/lib/apt/lists/*
RUN python -m venv /opt/venv
COPY constraints.txt requirements-web.txt ./
RUN pip install --requirement requirements-web.txt

FROM web-packages AS worker-packages
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
COPY requirements.txt ./
RUN pip install --extra-index-url "$TORCH_INDEX" --requirement requirements.txt

FROM base AS web
COPY --from=web-packages /opt/venv /opt/venv
COPY --chown=root:root . .
# No process may write there later: without this, each would compile the project at its start.
RUN python -m compileall -q .
# Only what hashed file names depend on is read here; the values below reach no running container.
RUN PRODUCTION=1 SECRET_KEY=only-for-collecting-static-files-0123456789-0123456789 PUBLIC_URL=https://localhost \
    DATABASE_URL=postgresql://none/none REDIS_URL=redis://none STATIC_ROOT=/srv/lapidary/static LAPIDARY_VAR=/tmp \
    python manage.py collectstatic --no-input --verbosity 0
ENV STATIC_ROOT=/srv/lapidary/static
USER lapidary
VOLUME /var/lib/lapidary
EXPOSE 8000
HEALTHCHECK --interval=15s --timeout=5s --start-period=120s CMD ["python", "-IS", "config/probe.py", "http://127.0.0.1:8000/healthz"]
STOPSIGNAL SIGTERM
# More than one core: raise WEB_CONCURRENCY.
CMD ["python", "-m", "gunicorn", "-c", "python:config.gunicorn", "--bind", "0.0.0.0:8000"]

FROM base AS worker
# `manage.py doctor` looks for no styles here.
ENV LAPIDARY_PROCESS=worker
COPY --from=worker-packages /opt/venv /opt/venv
COPY --chown=root:root . .
RUN python -m compileall -q .
USER lapidary
VOLUME /var/lib/lapidary /var/lib/huggingface
# Seconds that a running decode or job gets to finish are set by `stop_grace_period` in compose.yaml.
STOPSIGNAL SIGTERM
ENTRYPOINT ["celery", "--app", "config", "worker", "--without-gossip", "--without-mingle"]
CMD ["--queues", "gpu", "--pool", "solo", "--hostname", "gpu@%h"]
