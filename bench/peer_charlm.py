"""Trains the character model on a text in PyTorch, for comparison with

    limpid train --data text:FILE --model charlm --epochs 1 --threads 1 --probe-every 0 --sample-every 0

Context of 8 characters, embedding dimension 32, hidden layers of 128 and 128, ReLU; AdamW (foreach) with learning rate 0.002;
batches of 256 windows, drawn without replacement from the first nine tenths of the text. Usage:

    OMP_NUM_THREADS=1 /usr/bin/python3 bench/peer_charlm.py FILE [EPOCHS]
"""

import sys
import time

import torch
from torch import nn
from torch.nn import functional

CONTEXT, WIDTH, HIDDEN, BATCH = 8, 32, 128, 256


def loss_of(model, windows, targets):
    return functional.cross_entropy(model(windows), targets)


def main():
    text = open(sys.argv[1], encoding="utf-8").read()
    epochs = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    torch.set_num_threads(1)
    characters = sorted(set(text))
    number = {c: i for i, c in enumerate(characters)}
    tokens = torch.tensor([number[c] for c in text])
    train, test = tokens[:len(tokens) * 9 // 10], tokens[len(tokens) * 9 // 10:]
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(len(characters), WIDTH), nn.Flatten(),
                          nn.Linear(CONTEXT * WIDTH, HIDDEN), nn.ReLU(),
                          nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, len(characters)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01, foreach=True)
    windows = train.unfold(0, CONTEXT, 1)[:-1].contiguous()
    targets = train[CONTEXT:].contiguous()
    steps = -(-len(windows) // BATCH)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps * epochs)
    for epoch in range(epochs):
        start = time.perf_counter()
        for rows in torch.randperm(len(windows)).split(BATCH):
            optimizer.zero_grad(set_to_none=True)
            loss_of(model, windows[rows], targets[rows]).backward()
            optimizer.step()
            schedule.step()
        seconds = time.perf_counter() - start
        with torch.inference_mode():
            held_out = loss_of(model, test.unfold(0, CONTEXT, 1)[:-1], test[CONTEXT:]).item()
        print(f"epoch {epoch + 1}: {len(windows) / seconds:,.0f} samples a second, loss {held_out:.4f} on the last tenth")


if __name__ == "__main__":
    main()
