"""Hosts on this machine: network namespaces that are joined by a network with delay and loss.

Each host has a TUN device. A thread reads what it sends, waits, loses some of it, and hands the rest to the host that it is for: what
`tc netem` does, where the kernel has no netem. It needs root, iproute2 and /dev/net/tun.
"""

import collections
import contextlib
import fcntl
import os
import pathlib
import random
import select
import signal
import struct
import subprocess
import threading
import time

TUNSETIFF = 0x400454CA
IFF_TUN_NO_PI = 0x1001


def missing():
    """The reason why hosts are impossible here, or ""."""
    try:
        with Hosts(1, delay=0, loss=0):
            return ""
    except (OSError, subprocess.CalledProcessError) as error:
        return f"no network namespaces here: {getattr(error, 'stderr', '') or error}".strip()


class Hosts:
    """Hosts with the addresses .addresses; packets between them take `delay` seconds, and a part `loss` of them gets lost."""

    def __init__(self, count, delay, loss, seed=0):
        self.delay, self.loss, self.random = delay, loss, random.Random(seed)
        self.names = [f"limpid{os.getpid()}n{i}" for i in range(count)]
        self.addresses = [f"10.78.0.{i + 1}" for i in range(count)]
        self.devices, self.carried, self.lost = [], 0, 0
        self.cut_off = set()  # hosts whose packets are all lost
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self._carry)

    def __enter__(self):
        try:
            for name, address in zip(self.names, self.addresses):
                self._add(name, address)
        except BaseException:
            self._remove()
            raise
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.thread.join()
        self._remove()

    def command(self, host, *command):
        """The command line that runs a command on a host, which has its own hostname."""
        return ["ip", "netns", "exec", self.names[host], "unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"',
                f"host{host}", *map(str, command)]  # fmt: skip

    def remote_shell(self, folder):
        """A program that acts as ssh: its arguments are options, an address and a command line."""
        path = pathlib.Path(folder) / "remote_shell"
        hosts = "\n".join(f"{address}) name={name}; host=host{i} ;;"
                          for i, (name, address) in enumerate(zip(self.names, self.addresses)))
        path.write_text(f"""#!/bin/sh
while [ "${{1#-}}" != "$1" ]; do shift; done
case $1 in
{hosts}
esac
shift
exec ip netns exec "$name" unshare --uts sh -c "hostname $host; $*"
""")
        path.chmod(0o755)
        return path

    def _add(self, name, address):
        device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        self.devices.append(device)
        fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TUN_NO_PI))
        for command in (["netns", "add", name], ["link", "set", name, "netns", name], ["-n", name, "link", "set", "lo", "up"],
                        ["-n", name, "addr", "add", f"{address}/24", "dev", name], ["-n", name, "link", "set", name, "up"]):  # fmt: skip
            subprocess.run(["ip", *command], check=True, capture_output=True, text=True)

    def _remove(self):
        for device in self.devices:
            os.close(device)
        for name in self.names[: len(self.devices)]:
            left = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True)
            for process in left.stdout.split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(process), signal.SIGKILL)
            subprocess.run(["ip", "netns", "del", name], capture_output=True)

    def _carry(self):
        waiting = collections.deque()  # (when it arrives, the device, the packet)
        while not self.stopped.is_set():
            now = time.monotonic()
            while waiting and waiting[0][0] <= now:
                _, device, packet = waiting.popleft()
                try:
                    os.write(device, packet)
                except OSError:
                    self.lost += 1  # the host's queue is full
            ready, _, _ = select.select(self.devices, [], [], min(0.05, max(0, waiting[0][0] - now)) if waiting else 0.05)
            for device in ready:
                packet = os.read(device, 65536)
                to = packet[19] - 1 if packet[0] >> 4 == 4 else len(self.devices)
                if to >= len(self.devices):
                    continue  # IPv6's own, and what is for nobody
                if self.random.random() < self.loss or self.cut_off & {to, self.devices.index(device)}:
                    self.lost += 1
                    continue
                self.carried += 1
                waiting.append((time.monotonic() + self.delay, self.devices[to], packet))
