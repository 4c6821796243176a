#include "comm/mpi/mpi_process.h"

#include <signal.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "comm/all_reduce_algorithm.h"
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

absl::Status SplitByHost(int rank, int ranks_per_host, Engine::Ranks& ranks) {
  DTNN_RETURN_IF_ERROR(MpiStatus(
      ranks_per_host > 0 ? MPI_Comm_split(ranks.world, rank / ranks_per_host, rank, &ranks.here)
                         : MPI_Comm_split_type(ranks.world, MPI_COMM_TYPE_SHARED, rank,
                                               MPI_INFO_NULL, &ranks.here),
      "finding the ranks of a host"));
  int place = 0;
  MPI_Comm_rank(ranks.here, &place);
  return MpiStatus(MPI_Comm_split(ranks.world, place, rank, &ranks.across), "MPI_Comm_split");
}

// Frees what is not needed: all-reduces go in stages where that pays, and where every host has as
// many ranks.
absl::Status KeepWhereStagesPay(Engine::Ranks& ranks) {
  int here = 0, hosts = 0;
  MPI_Comm_size(ranks.here, &here);
  MPI_Comm_size(ranks.across, &hosts);
  int bounds[2] = {here, -here};
  DTNN_RETURN_IF_ERROR(MpiStatus(
      MPI_Allreduce(MPI_IN_PLACE, bounds, 2, MPI_INT, MPI_MIN, ranks.world), "MPI_Allreduce"));
  if (bounds[0] == -bounds[1] &&
      AllReduceAlgorithmFor(hosts, here) == AllReduceAlgorithm::kHierarchical) {
    return absl::OkStatus();
  }
  MPI_Comm_free(&ranks.here);
  MPI_Comm_free(&ranks.across);
  return absl::OkStatus();
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
  const int launched = LaunchedRank();
  const Watchdog watchdog(absl::StrCat(launched < 0 ? absl::StrCat("process ", getpid())
                                                    : absl::StrCat("rank ", launched),
                                       ": MPI_Init"),
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
  MPI_Comm_rank(MPI_COMM_WORLD, &process->rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &process->size_);
  DTNN_RETURN_IF_ERROR(SplitByHost(process->rank_, ranks_per_host, ranks));
  MPI_Comm_rank(ranks.here, &process->node_rank_);
  MPI_Comm_size(ranks.here, &process->node_size_);
  DTNN_RETURN_IF_ERROR(KeepWhereStagesPay(ranks));
  DTNN_RETURN_IF_ERROR(MpiStatus(MPI_Comm_dup(MPI_COMM_WORLD, &control), "MPI_Comm_dup"));
  MPI_Comm_set_errhandler(control, MPI_ERRORS_RETURN);
  std::vector<ProcessId> processes(size_t(process->size_));
  ProcessId mine = ProcessId::Mine();
  DTNN_RETURN_IF_ERROR(MpiStatus(MPI_Allgather(&mine, sizeof(mine), MPI_BYTE, processes.data(),
                                               sizeof(mine), MPI_BYTE, control),
                                 "MPI_Allgather"));
  process->engine_ =
      std::make_unique<Engine>(ranks, control, process->rank_, std::move(processes),
                               /*crowded=*/process->node_size_ > ProcessorsOfLauncher());
  return process;
}

MpiProcess::MpiProcess(const CommunicatorOptions& options, int exit_code)
    : options_(options), exit_code_(exit_code) {}

MpiProcess::~MpiProcess() {
  if (engine_ == nullptr) return;
  const bool finalize = finalizable();
  engine_->Stop();
  if (!finalize || engine_->stuck()) return;
  const Watchdog watchdog(absl::StrCat("rank ", rank_, ": MPI_Finalize"), options_, exit_code_);
  MPI_Finalize();
}

bool MpiProcess::broken() const { return engine_->broken(); }

std::mutex& MpiProcess::mutex() { return engine_->mutex(); }

absl::StatusOr<std::unique_ptr<Communicator>> MpiProcess::Connect(
    const CommunicatorOptions& options, const MpiOptions& mpi) {
  DTNN_ASSIGN_OR_RETURN(std::shared_ptr<Group> group, engine_->CreateGroup(options, mpi));
  return MakeMpiCommunicator(*engine_, std::move(group), {rank_, size_, node_rank_, node_size_});
}

}  // namespace dtnn
