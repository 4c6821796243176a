# For tests that start MPI programs, to be sourced by any sh in a test's own folder.

# Containers run tests as root.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMP_NUM_THREADS=1
# What the sanitizers see in Open MPI. Each suppression stands there with its reason.
suppressions=$PWD/tools/testing
[ -e "$suppressions/mpi_lsan.supp" ] || { echo "no suppressions in $suppressions" >&2; exit 1; }
export LSAN_OPTIONS="suppressions=$suppressions/mpi_lsan.supp:fast_unwind_on_malloc=0:print_suppressions=0"
export TSAN_OPTIONS="suppressions=$suppressions/mpi_tsan.supp:ignore_noninstrumented_modules=1"
