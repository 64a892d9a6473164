#!/bin/bash
# mpirun.sh ARGS...: mpirun for tests, with Open MPI 4.1 (ORTE, vader) and 5 (PRRTE, sm), of which
# each ignores the variables that only the other one knows. The ranks run on one machine, usually
# with fewer cores than ranks, often as root in a container.
set -euo pipefail

# Open MPI names its shared memory after process numbers, which repeat across sandboxes: two tests
# at the same time would collide in /dev/shm and /tmp.
folder=${TEST_TMPDIR:-${TMPDIR:-/tmp}}
export OMPI_MCA_orte_tmpdir_base=$folder PRTE_MCA_prte_tmpdir_base=$folder
export OMPI_MCA_btl_vader_backing_directory=$folder OMPI_MCA_btl_sm_backing_directory=$folder

# Bazel's tests have no HOME, without which Open MPI 5 does not start.
export HOME=${HOME:-$folder}

# Open MPI 5 takes "vader" for "sm".
export OMPI_MCA_btl=self,vader,tcp OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_mpi_yield_when_idle=1
exec mpirun --allow-run-as-root --oversubscribe --bind-to none "$@"
