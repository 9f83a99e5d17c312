#!/usr/bin/env bash
# A Slurm of two nodes with a made-up GPU each, on loopback, for the command that follows: nothing of it outlives the
# command or is seen outside. Needs root and slurm-wlm:
#   unshare --net --mount --pid --fork --kill-child --mount-proc bash tests/slurm/loopback.sh COMMAND...
set -euo pipefail

ip link set lo up
# Without another address than 127.0.0.1 no name is resolved.
ip address add 127.0.0.2/32 dev lo
host=$(hostname -s)
for folder in /etc/slurm /var/spool /var/log /run; do
  mount -t tmpfs tmpfs "$folder"
done
hosts=$(mktemp)
printf '127.0.0.1 localhost %s\n' "$host" >"$hosts"
mount --bind "$hosts" /etc/hosts
mkdir -p /var/spool/ctld /var/spool/n1 /var/spool/n2 /var/log/slurm

cat >/etc/slurm/slurm.conf <<CONF
ClusterName=loopback
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=16817
AuthType=auth/none
CredType=cred/none
SlurmUser=root
SlurmdUser=root
TmpFS=/var/spool/%n
StateSaveLocation=/var/spool/ctld
SlurmdSpoolDir=/var/spool/%n
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd-%n.pid
SlurmctldLogFile=/var/log/slurm/ctld.log
SlurmdLogFile=/var/log/slurm/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=2,bf_interval=2
JobRequeue=1
KillWait=30
MinJobAge=600
ReturnToService=2
AccountingStorageType=accounting_storage/none
GresTypes=gpu
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=17001 CPUs=1 Gres=gpu:1
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=17002 CPUs=1 Gres=gpu:1
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
printf 'CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n' >/etc/slurm/cgroup.conf
# Any device files do.
printf 'NodeName=n1 Name=gpu File=/dev/null\nNodeName=n2 Name=gpu File=/dev/zero\n' >/etc/slurm/gres.conf

slurmctld -c
slurmd -N n1
slurmd -N n2
for _ in $(seq 60); do
  [ "$(sinfo --noheader --Node --states=idle | wc -l)" = 2 ] && break
  sleep 1
done
if [ "$(sinfo --noheader --Node --states=idle | wc -l)" != 2 ]; then
  sinfo --Node --long
  tail -n 20 /var/log/slurm/*.log
  exit 1
fi
"$@"
