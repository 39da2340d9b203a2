"""Trains in PyTorch on several processes of one thread each, for scale.py:

    python3 peer_ddp.py WAY RANK RANKS MEETING TASK BATCH STEPS

WAY is ddp (DistributedDataParallel over Gloo) or alone: each process trains on its part of BATCH and exchanges nothing, the upper
bound for any exchange of gradients. TASK is mlp (784-256-128-10) or gpt:VOCABULARY (4 blocks, width 128, context 64). The processes
connect through the file MEETING. Rank 0 prints the seconds per step, between barriers, the number of parameters, and the BLAS."""

import sys
import time

import torch
from peer_gpt import Gpt
from peer_pytorch import CAN_COMPILE, blas
from torch import distributed, nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

WARM_UP = 20


def mlp(batch):
    model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10))
    batches = [(torch.rand(batch, 784), torch.randint(10, (batch,))) for _ in range(8)]
    return model, torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, foreach=True), batches, None


def gpt(batch, vocabulary, context=64):
    model = Gpt(layers=4, heads=4, width=128, context=context, vocabulary=vocabulary, fused=CAN_COMPILE)
    texts = [torch.randint(vocabulary, (batch * context + 1,)) for _ in range(8)]
    batches = [(text[:-1].reshape(batch, context), text[1:]) for text in texts]
    return model, torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.99), weight_decay=0.01, foreach=True), batches, 1.0


def main():
    way, rank, ranks, meeting, task, batch, steps = sys.argv[1:]
    rank, ranks, batch, steps = int(rank), int(ranks), int(batch), int(steps)
    torch.set_num_threads(1)
    torch.manual_seed(rank)
    distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=ranks)
    name, *vocabulary = task.split(":")
    model, optimizer, batches, clip = {"mlp": mlp, "gpt": gpt}[name](batch // ranks, *map(int, vocabulary))
    trained = model
    if way == "ddp":
        # Gloo cannot send bools, and every process already has these masks.
        masks = [name for name, _ in model.named_buffers()]
        DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(model, masks)
        trained = DistributedDataParallel(model, gradient_as_bucket_view=True, static_graph=True)

    def step(i):
        x, y = batches[i % len(batches)]
        optimizer.zero_grad(set_to_none=True)
        loss = functional.cross_entropy(trained(x), y)
        loss.backward()
        if clip:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()

    for i in range(WARM_UP):
        step(i)
    distributed.barrier()
    begin = time.perf_counter()
    for i in range(steps):
        step(i)
    distributed.barrier()
    seconds = (time.perf_counter() - begin) / steps
    if rank == 0:
        print(seconds, sum(p.numel() for p in model.parameters()), blas())


if __name__ == "__main__":
    main()
