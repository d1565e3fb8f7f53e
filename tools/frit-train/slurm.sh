#!/bin/bash
# Trains on 2 hosts with 4 GPUs each: sbatch slurm.sh
# Each rank takes 1/8 of a batch, for which step.so was compiled:
#   fritc model.onnx --train=train.json -fdata-parallel -fshape=batch=32 -o step.so
#SBATCH --job-name=frit-train
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --gpus-per-node=4
#SBATCH --cpus-per-task=8
#SBATCH --time=12:00:00
# Two minutes before the time is over, rank 0 writes a checkpoint.
#SBATCH --signal=TERM@120
set -euo pipefail
MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
MASTER_PORT=$((20000 + SLURM_JOB_ID % 10000))
export MASTER_ADDR MASTER_PORT
status=0
srun --kill-on-bad-exit=1 frit-train step.so --data=train.safetensors --epochs=90 \
  --lr=cosine:0.8,warmup=5ep --checkpoint=run/ --resume --log=run/log.jsonl || status=$?
# Stopped by SIGTERM: it goes on in another job.
[ "$status" != 143 ] || scontrol requeue "$SLURM_JOB_ID"
exit "$status"
