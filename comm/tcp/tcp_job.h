// Where a process finds the other ranks of its job, from the environment:
//
//   PYMPI_RANK, PYMPI_SIZE   which rank of how many; else what mpirun or srun has set
//   PYMPI_ADDR, PYMPI_PORT   where rank 0 listens (127.0.0.1, 61642): a name, an IPv4 or an IPv6
//                            address; by a name it listens at all addresses of its host
//   DTNN_JOB_SECRET          what all ranks of the job know and nobody else does (job_secret.h)
//   DTNN_JOB_PLAIN           yes: also between hosts, where others may read and change the bytes
//   DTNN_JOB_LISTENER        of rank 0: the file descriptor of a socket that listens there already
//
// In the environment, unlike on a command line, other users of the machine cannot read a secret.

#ifndef DTNN_COMM_TCP_TCP_JOB_H_
#define DTNN_COMM_TCP_TCP_JOB_H_

#include <functional>

#include "absl/status/statusor.h"
#include "comm/launch_place.h"
#include "comm/tcp/job_secret.h"
#include "comm/tcp/rendezvous.h"

namespace dtnn {

inline constexpr char kRankVariable[] = "PYMPI_RANK";
inline constexpr char kSizeVariable[] = "PYMPI_SIZE";
inline constexpr char kAddressVariable[] = "PYMPI_ADDR";
inline constexpr char kPortVariable[] = "PYMPI_PORT";
inline constexpr char kSecretVariable[] = "DTNN_JOB_SECRET";
inline constexpr char kPlainVariable[] = "DTNN_JOB_PLAIN";
inline constexpr char kListenerVariable[] = "DTNN_JOB_LISTENER";

inline constexpr char kDefaultAddress[] = "127.0.0.1";
inline constexpr uint16_t kDefaultPort = 61642;

struct TcpJob {
  RendezvousOptions rendezvous;
  JobSecret secret;
};

// `place`: what a launcher has set, where the variables for it are not there. `get` answers like
// getenv(), which is the default. InvalidArgument names the variable.
absl::StatusOr<TcpJob> FindTcpJob(const LaunchPlace& place,
                                  const std::function<const char*(const char*)>& get = nullptr);

}  // namespace dtnn

#endif  // DTNN_COMM_TCP_TCP_JOB_H_
