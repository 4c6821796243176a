#include "comm/mpi/mpi_process.h"

#include <signal.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "comm/all_reduce_algorithm.h"
#include "comm/launch_place.h"
#include "comm/mpi/engine.h"
#include "comm/mpi/mpi_api.h"
#include "comm/mpi/mpi_communicator.h"
#include "comm/mpi/peer_processes.h"
#include "comm/mpi/watchdog.h"
#include "tensor/processors.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

void SetDefault(const char* name, const char* value) { setenv(name, value, /*overwrite=*/0); }

// Container runtimes may forbid the system call by which Open MPI moves large messages between
// processes of a host, which it notices only when one fails.
bool CanReadOtherProcesses() {
  char from = 'x', to = 0;
  const iovec local = {&to, 1}, remote = {&from, 1};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1;
}

// README.md of this folder tells why.
void SetEnvironment() {
  SetDefault("OMPI_MCA_coll_libnbc_iallreduce_algorithm", "3");
  if (!CanReadOtherProcesses()) SetDefault("OMPI_MCA_btl_vader_single_copy_mechanism", "none");
}

// Open MPI's TCP writes to peers that may have died. Who handles the signal knows better.
void IgnoreBrokenPipes() {
  struct sigaction before = {};
  sigaction(SIGPIPE, nullptr, &before);
  if (before.sa_handler == SIG_DFL) signal(SIGPIPE, SIG_IGN);
}

// Fills `place`, but for rank and size, and says how all ranks are spread.
absl::StatusOr<Placement> FindPlaces(int ranks_per_host, Engine::Ranks& ranks, RankPlace& place) {
  DTNN_RETURN_IF_ERROR(MpiStatus(
      ranks_per_host > 0
          ? MPI_Comm_split(ranks.world, place.rank / ranks_per_host, place.rank, &ranks.here)
          : MPI_Comm_split_type(ranks.world, MPI_COMM_TYPE_SHARED, place.rank, MPI_INFO_NULL,
                                &ranks.here),
      "finding the ranks of a host"));
  MPI_Comm_rank(ranks.here, &place.node_rank);
  MPI_Comm_size(ranks.here, &place.node_size);
  // A host is known by its first rank.
  int first = place.rank;
  std::vector<int> firsts(size_t(place.size));
  DTNN_RETURN_IF_ERROR(MpiStatus(MPI_Bcast(&first, 1, MPI_INT, 0, ranks.here), "MPI_Bcast"));
  DTNN_RETURN_IF_ERROR(MpiStatus(
      MPI_Allgather(&first, 1, MPI_INT, firsts.data(), 1, MPI_INT, ranks.world), "MPI_Allgather"));
  for (int rank = 0; rank < first; ++rank) place.node += firsts[size_t(rank)] == rank ? 1 : 0;
  return PlacementOf(firsts);
}

}  // namespace

absl::StatusOr<std::unique_ptr<MpiProcess>> MpiProcess::Start(const CommunicatorOptions& options,
                                                              int exit_code, int ranks_per_host) {
  int started = 0;
  MPI_Initialized(&started);
  if (started != 0) {
    return absl::FailedPreconditionError("MPI was started already; a process does that once");
  }
  SetEnvironment();
  IgnoreBrokenPipes();
  std::unique_ptr<MpiProcess> process(new MpiProcess(options, exit_code));
  const LaunchPlace launched = FindLaunchPlace();
  const Watchdog watchdog(
      absl::StrCat(launched.launched ? "rank " : "process ",
                   launched.launched ? launched.rank : getpid(), ": the start of MPI"),
      options, exit_code);
  int provided = MPI_THREAD_SINGLE;
  DTNN_RETURN_IF_ERROR(MpiStatus(
      MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread"));
  if (provided < MPI_THREAD_SERIALIZED) {
    return absl::UnimplementedError("this MPI library cannot be called from several threads");
  }
  Engine::Ranks ranks = {.world = MPI_COMM_WORLD};
  MPI_Comm control = MPI_COMM_NULL;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  RankPlace& place = process->place_;
  MPI_Comm_rank(MPI_COMM_WORLD, &place.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &place.size);
  DTNN_ASSIGN_OR_RETURN(const Placement placement, FindPlaces(ranks_per_host, ranks, place));
  if (StagesPay(placement)) {
    DTNN_RETURN_IF_ERROR(MpiStatus(
        MPI_Comm_split(ranks.world, place.node_rank, place.rank, &ranks.across), "MPI_Comm_split"));
  } else {
    MPI_Comm_free(&ranks.here);
  }
  DTNN_RETURN_IF_ERROR(MpiStatus(MPI_Comm_dup(MPI_COMM_WORLD, &control), "MPI_Comm_dup"));
  MPI_Comm_set_errhandler(control, MPI_ERRORS_RETURN);
  std::vector<ProcessId> processes(size_t(place.size));
  ProcessId mine = ProcessId::Mine();
  DTNN_RETURN_IF_ERROR(MpiStatus(MPI_Allgather(&mine, sizeof(mine), MPI_BYTE, processes.data(),
                                               sizeof(mine), MPI_BYTE, control),
                                 "MPI_Allgather"));
  process->engine_ = std::make_unique<Engine>(ranks, control, place.rank, std::move(processes),
                                              /*crowded=*/place.node_size > ProcessorsOfLauncher());
  return process;
}

MpiProcess::MpiProcess(const CommunicatorOptions& options, int exit_code)
    : options_(options), exit_code_(exit_code) {}

MpiProcess::~MpiProcess() {
  if (engine_ == nullptr) return;
  const bool finalize = finalizable();
  engine_->Stop();
  if (!finalize || engine_->stuck()) return;
  const Watchdog watchdog(absl::StrCat("rank ", rank(), ": MPI_Finalize"), options_, exit_code_);
  MPI_Finalize();
}

bool MpiProcess::broken() const { return engine_->broken(); }

std::mutex& MpiProcess::mutex() { return engine_->mutex(); }

absl::StatusOr<std::unique_ptr<Communicator>> MpiProcess::Connect(
    const CommunicatorOptions& options, const MpiOptions& mpi) {
  DTNN_ASSIGN_OR_RETURN(std::shared_ptr<Group> group, engine_->CreateGroup(options, mpi));
  return MakeMpiCommunicator(*engine_, std::move(group), place_);
}

}  // namespace dtnn
