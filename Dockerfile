# kveil in a container. Targets: `cpu` (default last), `gpu`, `jetson`.
#   docker build --target cpu -t kveil:cpu .
#   docker build --target gpu -t kveil:gpu .
#   docker build --target jetson --platform linux/arm64 -t kveil:jetson .

ARG PYTHON=3.11
# The vendor's L4T TensorRT runtime, by the full name of its registry: see deploy/jetson.md.
ARG L4T_IMAGE=l4t-tensorrt:r10.3.0-runtime

FROM python:${PYTHON}-slim-bookworm AS wheel
WORKDIR /source
COPY . .
RUN pip install --no-cache-dir hatchling==1.33.0 \
 && pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /wheels .

FROM python:${PYTHON}-slim-bookworm AS base
ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 KVEIL_LISTEN__HOST=0.0.0.0
RUN apt-get update \
 && apt-get install --yes --no-install-recommends libsrt1.5-gnutls tini \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 10001 --home-dir /var/lib/kveil --create-home kveil
COPY requirements/serve.lock /tmp/serve.lock
RUN pip install --no-cache-dir --no-deps --require-hashes -r /tmp/serve.lock
COPY --from=wheel /wheels /wheels
RUN pip install --no-cache-dir --no-deps /wheels/kveil-*.whl && rm -rf /wheels
COPY deploy/healthcheck.py /usr/local/lib/kveil/healthcheck.py
ENTRYPOINT ["tini", "--", "kveil"]
CMD ["serve", "--config", "/etc/kveil/kveil.yaml"]
EXPOSE 8080
VOLUME ["/var/lib/kveil"]
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=3 \
  CMD ["python", "/usr/local/lib/kveil/healthcheck.py"]

FROM base AS gpu
# The driver comes from the host by the NVIDIA container toolkit; engines are built by
# `kveil models build` into the volume, once per GPU.
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility,video
RUN pip install --no-cache-dir tensorrt-rtx cuda-python
USER kveil

# L4T has its own CUDA and TensorRT, matched to the board's firmware: see deploy/jetson.md.
FROM ${L4T_IMAGE} AS jetson
ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 KVEIL_LISTEN__HOST=0.0.0.0
RUN apt-get update \
 && apt-get install --yes --no-install-recommends python3-pip python3-venv libsrt1.4-gnutls tini \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 10001 --groups video --home-dir /var/lib/kveil --create-home kveil
COPY --from=wheel /wheels /wheels
COPY deploy/healthcheck.py /usr/local/lib/kveil/healthcheck.py
RUN python3 -m venv --system-site-packages /opt/kveil \
 && wheel="$(ls /wheels/kveil-*.whl)" \
 && /opt/kveil/bin/pip install --no-cache-dir "${wheel}[serve,redis]" cuda-python \
 && rm -rf /wheels
ENV PATH=/opt/kveil/bin:$PATH
USER kveil
ENTRYPOINT ["tini", "--", "kveil"]
CMD ["serve", "--config", "/etc/kveil/kveil.yaml"]
EXPOSE 8080
HEALTHCHECK --interval=15s --timeout=5s --start-period=120s --retries=3 \
  CMD ["python", "/usr/local/lib/kveil/healthcheck.py"]

FROM base AS cpu
USER kveil
