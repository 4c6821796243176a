#include "comm/ranks/mpi/mpi_world.h"

#include <signal.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "comm/all_reduce_algorithm.h"
#include "comm/network_space.h"
#include "tensor/errors.h"
#include "tensor/threads/processors.h"

namespace dtnn {
namespace {

// Open MPI takes its settings only from the environment.
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
  SetDefault(kMpiAlgorithmVariable, kMpiAlgorithm);
  if (!CanReadOtherProcesses()) SetDefault("OMPI_MCA_btl_vader_single_copy_mechanism", "none");
}

// Open MPI's TCP writes to peers that may have died. A handler of the signal stays.
void IgnoreBrokenPipes() {
  struct sigaction before = {};
  sigaction(SIGPIPE, nullptr, &before);
  if (before.sa_handler == SIG_DFL) signal(SIGPIPE, SIG_IGN);
}

// Every rank's value.
template <typename T>
absl::StatusOr<std::vector<T>> Gather(const T& mine, MPI_Comm comm, int size) {
  std::vector<T> all(size_t(size), mine);
  DTNN_RETURN_IF_ERROR(
      MpiStatus(MPI_Allgather(&mine, sizeof(T), MPI_BYTE, all.data(), sizeof(T), MPI_BYTE, comm),
                "MPI_Allgather"));
  return all;
}

// Fills the place, but for rank and size, and says how all ranks are spread.
absl::StatusOr<Placement> FindPlaces(int ranks_per_host, MpiWorld& world) {
  RankPlace& place = world.place;
  DTNN_RETURN_IF_ERROR(MpiStatus(
      ranks_per_host > 0
          ? MPI_Comm_split(world.world, place.rank / ranks_per_host, place.rank, &world.here)
          : MPI_Comm_split_type(world.world, MPI_COMM_TYPE_SHARED, place.rank, MPI_INFO_NULL,
                                &world.here),
      "finding the ranks of a host"));
  MPI_Comm_rank(world.here, &place.node_rank);
  MPI_Comm_size(world.here, &place.node_size);
  // A host is known by its first rank.
  int first = place.rank;
  DTNN_RETURN_IF_ERROR(MpiStatus(MPI_Bcast(&first, 1, MPI_INT, 0, world.here), "MPI_Bcast"));
  DTNN_ASSIGN_OR_RETURN(const std::vector<int> firsts, Gather(first, world.world, place.size));
  for (int rank = 0; rank < first; ++rank) place.node += firsts[size_t(rank)] == rank ? 1 : 0;
  return PlacementOf(firsts);
}

// Opens this rank's socket and learns the others' addresses.
absl::Status MeetOthers(MpiWorld& world) {
  const RankPlace& place = world.place;
  const uint64_t mine = NetworkSpace();
  DTNN_ASSIGN_OR_RETURN(const std::vector<uint64_t> spaces, Gather(mine, world.world, place.size));
  const bool together = std::count(spaces.begin(), spaces.end(), mine) == place.size;
  absl::StatusOr<ControlSocket> socket = ControlSocket::Open(/*loopback_only=*/together);
  // All hear of a failure: nobody waits for a rank that has left.
  const ControlAddress address = socket.ok() ? socket->address() : ControlAddress();
  DTNN_ASSIGN_OR_RETURN(world.addresses, Gather(address, world.world, place.size));
  DTNN_RETURN_IF_ERROR(socket.status());
  DTNN_RETURN_IF_ERROR(CheckAddresses(world.addresses));
  world.socket.emplace(*std::move(socket));
  for (size_t rank = 0; rank < spaces.size(); ++rank) {
    if (spaces[rank] == mine) world.addresses[rank].hosts = {LoopbackHost()};
  }
  if (place.rank == 0) world.token = ControlChannel::NewToken();
  return MpiStatus(MPI_Bcast(world.token.data(), sizeof(world.token), MPI_BYTE, 0, world.world),
                   "MPI_Bcast");
}

}  // namespace

absl::StatusOr<std::vector<DatagramReport>> GatherReports(const MpiWorld& world,
                                                          const DatagramReport& mine) {
  return Gather(mine, world.world, world.place.size);
}

absl::Status CheckReports(const std::vector<DatagramReport>& reports) {
  const auto found = std::ranges::find_if(
      reports, [](const DatagramReport& report) { return report.unreached >= 0; });
  if (found == reports.end()) return absl::OkStatus();
  const auto called = [&](int rank) {
    return StrCat("rank ", rank, " on ", reports[size_t(rank)].host);
  };
  return Unavailable(called(int(found - reports.begin())), " cannot reach ",
                     called(found->unreached),
                     " by UDP, although MPI can. Ranks use UDP datagrams to detect lost ranks: "
                     "allow UDP between all hosts of the job in their firewalls");
}

absl::StatusOr<MpiWorld> StartMpi(int ranks_per_host) {
  SetEnvironment();
  IgnoreBrokenPipes();
  int provided = MPI_THREAD_SINGLE;
  DTNN_RETURN_IF_ERROR(MpiStatus(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided),
                                 "MPI_Init_thread"));
  if (provided < MPI_THREAD_FUNNELED) {
    return absl::UnimplementedError("this MPI library does not support programs with threads");
  }
  MpiWorld world;
  world.world = MPI_COMM_WORLD;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &world.place.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world.place.size);
  DTNN_ASSIGN_OR_RETURN(const Placement placement, FindPlaces(ranks_per_host, world));
  if (StagesPay(placement)) {
    DTNN_RETURN_IF_ERROR(MpiStatus(
        MPI_Comm_split(world.world, world.place.node_rank, world.place.rank, &world.across),
        "MPI_Comm_split"));
  } else {
    MPI_Comm_free(&world.here);
  }
  DTNN_RETURN_IF_ERROR(MeetOthers(world));
  world.crowded = world.place.node_size > ProcessorsOfLauncher();
  return world;
}

}  // namespace dtnn
