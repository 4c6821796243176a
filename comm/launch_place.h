// Rank and number of processes, and what carries their bytes, from the environment that the program
// which started them (mpirun, srun, apps/launch) has set: known before MPI is initialised, and
// without MPI.
//
//   PYMPI_PROTO              mpi, which is the default, tcp, grpc or mqtt
//   PYMPI_RANK, PYMPI_SIZE   but for mpi: which rank of how many; else what mpirun or srun has set
//   DTNN_JOB_ELASTIC         MIN:MAX: ranks may come and go (comm/ranks/elastic)

#ifndef DTNN_COMM_LAUNCH_PLACE_H_
#define DTNN_COMM_LAUNCH_PLACE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace dtnn {

inline constexpr char kTransportVariable[] = "PYMPI_PROTO";
inline constexpr char kRankVariable[] = "PYMPI_RANK";
inline constexpr char kSizeVariable[] = "PYMPI_SIZE";
inline constexpr char kElasticVariable[] = "DTNN_JOB_ELASTIC";

enum class Transport : uint8_t { kMpi, kTcp, kGrpc, kMqtt, kUnknown };

// "mpi", ...; kUnknown for other words. Upper and lower case are the same.
Transport TransportOf(std::string_view word);
std::string_view Name(Transport transport);

using GetVariable = std::function<const char*(const char*)>;

// What the options of a program say of its job. Each outranks the variable that says the same.
struct JobChoice {
  std::optional<Transport> transport = {};
  std::string address = {};  // HOST:PORT, where ranks meet
  std::string elastic = {};  // MIN:MAX ranks
};

struct LaunchPlace {
  bool launched = false;  // by something that starts the processes of parallel programs
  int rank = 0;
  int ranks = 1;
  Transport transport = Transport::kMpi;
  std::string address = {};  // as JobChoice has it; empty: as the environment says
  // Of the choice or the environment; empty: ranks are those of the start.
  std::string elastic = {};

  friend bool operator==(const LaunchPlace&, const LaunchPlace&) = default;
};

// Reads Open MPI's variables, else those of PMI (MPICH, Slurm) or PMIx; without mpi those above
// first, and last those of a srun that knows of no MPI. Invalid numbers count as unset. A choice of
// elastic ranks counts over TCP, unless a launcher of ours has started ranks that are not elastic:
// nobody would form their generations. `get` answers like getenv(), which is the default.
LaunchPlace FindLaunchPlace(const JobChoice& choice = {}, const GetVariable& get = nullptr);

// InvalidArgument where PYMPI_PROTO names a transport that there is not.
absl::Status CheckTransport(const GetVariable& get = nullptr);

// If Slurm's srun has started several processes without PMI or PMIx, so that they cannot find each
// other by MPI and each would be alone: this one's place among them. Otherwise, as for a single
// process. The process of a batch script itself does not count.
LaunchPlace FindUnconnectedPlace(const GetVariable& get = nullptr);

}  // namespace dtnn

#endif  // DTNN_COMM_LAUNCH_PLACE_H_
