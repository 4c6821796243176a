// Where a process finds the other ranks of its job, from the environment:
//
//   PYMPI_RANK, PYMPI_SIZE   which rank of how many; else what mpirun or srun has set
//                            (comm/launch_place.h)
//   PYMPI_ADDR, PYMPI_PORT   where rank 0 listens (127.0.0.1, 61642): a name, an IPv4 or an IPv6
//                            address; by a name it listens at all addresses of its host. With
//                            mqtt: where the broker is (127.0.0.1, 1883, with TLS 8883)
//   DTNN_JOB_SECRET          what all ranks of the job know and nobody else does (job_secret.h)
//   DTNN_JOB_SECRET_FILE     or a file that holds it, which only its owner may read
//   PYMPI_SSL                yes: TLS, which is what ranks use anyway over TCP where rank 0 does
//                            not listen at a loopback address; grpc and mqtt seal messages
//                            themselves
//   PYMPI_SSL_CERT, _KEY     files with this host's certificate and its private key
//   PYMPI_SSL_CA             file with the authority's certificate; else the one of PYMPI_SSL_CERT.
//                            A broker of that authority may ask for no other
//   DTNN_BROKER_USER, _PASSWORD   what an MQTT broker knows this user by
//   DTNN_JOB_PLAIN           yes: no TLS between hosts, where others may read and change the bytes
//   DTNN_SHARED_MEMORY       no: ranks of one host exchange by TCP too. yes, or not set: through
//                            memory that they share, where the system lets them
//   DTNN_JOB_ELASTIC         MIN:MAX (comm/launch_place.h). PYMPI_ADDR and _PORT are the
//                            coordinator's then, and rank and size are not needed
//   DTNN_JOB_LISTENER        of rank 0: the file descriptor of a socket that listens there already
//
// In the environment, unlike on a command line, other users of the machine cannot read a secret.
// A process that has read it there overwrites it, so that those that it starts do not inherit it.

#ifndef DTNN_COMM_RANKS_JOB_JOB_ENVIRONMENT_H_
#define DTNN_COMM_RANKS_JOB_JOB_ENVIRONMENT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "comm/launch_place.h"
#include "comm/secrets/crypto/job_secret.h"
#include "comm/transport/tcp/rendezvous.h"

namespace dtnn {

inline constexpr char kAddressVariable[] = "PYMPI_ADDR";
inline constexpr char kPortVariable[] = "PYMPI_PORT";
inline constexpr char kSecretVariable[] = "DTNN_JOB_SECRET";
inline constexpr char kSecretFileVariable[] = "DTNN_JOB_SECRET_FILE";
inline constexpr char kTlsVariable[] = "PYMPI_SSL";
inline constexpr char kCertificateVariable[] = "PYMPI_SSL_CERT";
inline constexpr char kKeyVariable[] = "PYMPI_SSL_KEY";
inline constexpr char kAuthorityVariable[] = "PYMPI_SSL_CA";
inline constexpr char kPlainVariable[] = "DTNN_JOB_PLAIN";
inline constexpr char kSharedMemoryVariable[] = "DTNN_SHARED_MEMORY";
inline constexpr char kListenerVariable[] = "DTNN_JOB_LISTENER";

// All that say which job a process belongs to: a starter of another job's ranks removes them.
inline constexpr const char* kJobVariables[] = {
    kTransportVariable, kRankVariable,       kSizeVariable,    kAddressVariable,     kPortVariable,
    kSecretVariable,    kSecretFileVariable, kTlsVariable,     kCertificateVariable, kKeyVariable,
    kAuthorityVariable, kPlainVariable,      kElasticVariable, kListenerVariable};

// User and password of a broker, for any job.
inline constexpr char kBrokerUserVariable[] = "DTNN_BROKER_USER";
inline constexpr char kBrokerPasswordVariable[] = "DTNN_BROKER_PASSWORD";

inline constexpr char kDefaultAddress[] = "127.0.0.1";
inline constexpr uint16_t kDefaultPort = 61642;
inline constexpr uint16_t kBrokerPort = 1883, kBrokerTlsPort = 8883;

// Names of files, as comm/transport/tls takes them.
struct JobCertificates {
  std::string certificate, key, authority;  // the first two empty: this host shows none
};

struct JobEnvironment {
  RendezvousOptions rendezvous;  // but for the stream
  JobSecret secret;
  std::optional<JobCertificates> tls = {};  // nothing: without TLS
  std::string elastic = {};  // MIN:MAX; empty: the ranks are those that there are at the start
  std::string broker_user = {}, broker_password = {};
  std::string warning = {};  // for the user; empty: none
};

// The first line of a file that nobody but its owner can read. Errors name the file.
absl::StatusOr<std::string> ReadSecretText(const std::string& path);
absl::StatusOr<JobSecret> ReadSecretFile(const std::string& path);

// Whether that variable says yes (true, on, 1) or no; nothing where it is not set. InvalidArgument,
// which names it, for other words.
absl::StatusOr<std::optional<bool>> FindSwitch(const char* name, const GetVariable& get = nullptr);

// `place`: its transport, address and ranks that come and go, if any; and what a launcher has set,
// where the variables for it are not there. `get` answers like getenv(), which is the default.
// InvalidArgument, and what is wrong with the secret's file, names the variable. By default, too,
// the secret is removed from the environment, and the process keeps its memory from dumps: once,
// before it has other threads.
absl::StatusOr<JobEnvironment> FindJob(const LaunchPlace& place, const GetVariable& get = nullptr);

// For a process that finds no other ranks by MPI: InvalidArgument where it was started as one of
// several ranks over TCP, which would all do the whole work, into the same files. `together`: its
// options say that it works with others, so that a job's secret counts as well.
absl::Status CheckNotOfOtherJob(bool together, const GetVariable& get = nullptr);

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_JOB_JOB_ENVIRONMENT_H_
