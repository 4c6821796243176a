// All-reduces of ours against those of Open MPI over TCP, on the same memory, in one run:
//
//   mpirun -np 2 --mca pml ob1 --mca btl self,tcp transport_benchmark grpc [ROUNDS [LARGEST]]
//
// or tcp, or mqtt; tcp is through shared memory unless DTNN_SHARED_MEMORY=no. Per size from 1 KiB
// to LARGEST bytes (16 MiB): the time of a call, which is that of the slowest rank in the best of
// ROUNDS rounds (10) of some calls each, and the median; rounds of both take turns. Rank 0 prints a
// table. Ranks meet at PYMPI_ADDR and PYMPI_PORT (127.0.0.1 and a free port), which for mqtt are
// the broker's.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "comm/launch_place.h"
#include "comm/ranks/job/job_environment.h"
#include "comm/ranks/job/job_process.h"
#include "comm/ranks/mpi/mpi_process.h"
#include "comm/secrets/crypto/job_secret.h"
#include "comm/transport/tcp/socket.h"
#include "tensor/status_macros.h"
#include "tensor/tensor.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

constexpr int64_t kSmallest = 1 << 10;

// What a round moves at most, and its calls at most.
constexpr int64_t kRoundBytes = 64 << 20;
constexpr int64_t kRoundCalls = 200;

// Seconds of one of the calls on the slowest rank.
absl::StatusOr<double> TimeRound(Communicator& communicator, const Tensor& x, int64_t calls) {
  using Clock = std::chrono::steady_clock;
  DTNN_RETURN_IF_ERROR(communicator.Barrier());
  const Clock::time_point begin = Clock::now();
  for (int64_t i = 0; i < calls; ++i) DTNN_RETURN_IF_ERROR(communicator.AllReduce(x));
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  DTNN_ASSIGN_OR_RETURN(const Tensor slowest,
                        Tensor::Allocate(Device::Cpu(), DType::kFloat64, {1}));
  *slowest.data<double>() = seconds / double(calls);
  DTNN_RETURN_IF_ERROR(communicator.AllReduce(slowest, ReduceOp::kMax));
  return *slowest.data<double>();
}

// Sorted; the first is the best.
double Median(const std::vector<double>& times) { return times[times.size() / 2]; }

absl::Status Compare(Communicator& ours, Communicator& mpi, int64_t bytes, int rounds) {
  DTNN_ASSIGN_OR_RETURN(const Tensor x,
                        Tensor::Zeros(DType::kFloat32, {bytes / int64_t(sizeof(float))}));
  const int64_t calls = std::clamp<int64_t>(kRoundBytes / bytes, 1, kRoundCalls);
  std::vector<double> times_ours, times_mpi;
  for (int round = 0; round < rounds; ++round) {
    DTNN_ASSIGN_OR_RETURN(times_ours.emplace_back(), TimeRound(ours, x, calls));
    DTNN_ASSIGN_OR_RETURN(times_mpi.emplace_back(), TimeRound(mpi, x, calls));
  }
  std::ranges::sort(times_ours);
  std::ranges::sort(times_mpi);
  if (ours.rank() == 0) {
    std::printf("%9lld %12.1f %12.1f %9.2f %9.2f\n", static_cast<long long>(bytes),
                times_ours[0] * 1e6, times_mpi[0] * 1e6, times_mpi[0] / times_ours[0],
                Median(times_mpi) / Median(times_ours));
    std::fflush(stdout);
  }
  return absl::OkStatus();
}

// Rank 0's address, or the broker's, and the job's secret, which all get from rank 0.
struct Meeting {
  std::array<char, 64> host = {}, secret = {};
  uint16_t port = 0;
};

std::string Variable(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

absl::StatusOr<Meeting> MakeMeeting(Transport transport) {
  Meeting meeting;
  DTNN_ASSIGN_OR_RETURN(const std::string secret, JobSecret::NewText());
  secret.copy(meeting.secret.data(), meeting.secret.size());
  Endpoint place = {.host = Variable(kAddressVariable, kDefaultAddress),
                    .port = uint16_t(std::atoi(Variable(kPortVariable, "0").c_str()))};
  if (transport != Transport::kMqtt) {
    DTNN_ASSIGN_OR_RETURN(Socket listener, Listen(place));
    DTNN_ASSIGN_OR_RETURN(place, listener.Local());
    setenv(kListenerVariable, std::to_string(listener.Release()).c_str(), 1);
  }
  place.host.copy(meeting.host.data(), meeting.host.size() - 1);
  meeting.port = place.port;
  return meeting;
}

absl::StatusOr<std::unique_ptr<JobProcess>> JoinThrough(Communicator& mpi, Transport transport,
                                                        const CommunicatorOptions& options) {
  Meeting meeting;
  if (mpi.rank() == 0) {
    DTNN_ASSIGN_OR_RETURN(meeting, MakeMeeting(transport));
  }
  DTNN_ASSIGN_OR_RETURN(const Tensor all, Tensor::Zeros(DType::kUint8, {int64_t(sizeof(meeting))}));
  std::memcpy(all.raw_data(), &meeting, sizeof(meeting));
  DTNN_RETURN_IF_ERROR(mpi.Broadcast(all, 0));
  std::memcpy(&meeting, all.raw_data(), sizeof(meeting));
  setenv(kSecretVariable, std::string(meeting.secret.data(), meeting.secret.size()).c_str(), 1);
  const Endpoint address = {.host = meeting.host.data(), .port = meeting.port};
  return StartJobProcess(FindLaunchPlace({.transport = transport, .address = address.ToString()}),
                         options);
}

absl::Status RunAll(Transport transport, int rounds, int64_t largest) {
  CommunicatorOptions options;
  options.timeout = std::chrono::minutes(1);
  DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<MpiProcess> mpi_process, MpiProcess::Start(options));
  DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<Communicator> mpi, mpi_process->Connect(options));
  DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<JobProcess> process,
                        JoinThrough(*mpi, transport, options));
  DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<Communicator> ours,
                        process->Connect(options, /*sums_in_rank_order=*/false));
  if (mpi->rank() == 0) {
    std::printf("all-reduce of float32 between %d ranks\n", mpi->size());
    std::printf("%9s %12s %12s %9s %9s\n", "bytes", StrCat(Name(transport), " (us)").c_str(),
                "MPI (us)", "speed", "median");
  }
  for (int64_t bytes = kSmallest; bytes <= largest; bytes *= 4) {
    DTNN_RETURN_IF_ERROR(Compare(*ours, *mpi, bytes, rounds));
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace dtnn

int main(int argc, char** argv) {
  const dtnn::Transport transport = dtnn::TransportOf(argc > 1 ? argv[1] : "tcp");
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 10;
  const int64_t largest = argc > 3 ? std::atoll(argv[3]) : 16 << 20;
  if (argc > 4 || rounds < 1 || largest < 1 || transport == dtnn::Transport::kMpi ||
      transport == dtnn::Transport::kUnknown) {
    std::cerr << "usage: mpirun -np 2 transport_benchmark [tcp|grpc|mqtt [ROUNDS [LARGEST]]]\n";
    return 2;
  }
  const absl::Status status = dtnn::RunAll(transport, rounds, largest);
  if (!status.ok()) std::cerr << status << "\n";
  return status.ok() ? 0 : 1;
}
