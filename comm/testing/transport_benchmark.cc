// All-reduces over our TCP against those of Open MPI over TCP, on the same memory, in one run:
//
//   mpirun -np 2 --mca pml ob1 --mca btl self,tcp transport_benchmark [ROUNDS [LARGEST]]
//
// Per size from 1 KiB to LARGEST bytes (16 MiB): the time of a call, which is that of the slowest
// rank in the best of ROUNDS rounds (10) of some calls each, and the median; rounds of both take
// turns. Rank 0 prints a table. Ranks over TCP meet at rank 0's first address, through MPI.

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
#include "comm/crypto/job_secret.h"
#include "comm/mpi/mpi_process.h"
#include "comm/tcp/tcp_process.h"
#include "tensor/status_macros.h"
#include "tensor/tensor.h"

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

absl::Status Compare(Communicator& tcp, Communicator& mpi, int64_t bytes, int rounds) {
  DTNN_ASSIGN_OR_RETURN(const Tensor x,
                        Tensor::Zeros(DType::kFloat32, {bytes / int64_t(sizeof(float))}));
  const int64_t calls = std::clamp<int64_t>(kRoundBytes / bytes, 1, kRoundCalls);
  std::vector<double> times_tcp, times_mpi;
  for (int round = 0; round < rounds; ++round) {
    DTNN_ASSIGN_OR_RETURN(times_tcp.emplace_back(), TimeRound(tcp, x, calls));
    DTNN_ASSIGN_OR_RETURN(times_mpi.emplace_back(), TimeRound(mpi, x, calls));
  }
  std::ranges::sort(times_tcp);
  std::ranges::sort(times_mpi);
  if (tcp.rank() == 0) {
    std::printf("%9lld %12.1f %12.1f %9.2f %9.2f\n", static_cast<long long>(bytes),
                times_tcp[0] * 1e6, times_mpi[0] * 1e6, times_mpi[0] / times_tcp[0],
                Median(times_mpi) / Median(times_tcp));
    std::fflush(stdout);
  }
  return absl::OkStatus();
}

// Rank 0's address and the job's secret, which all get from it.
struct Meeting {
  std::array<char, 64> host = {}, secret = {};
  uint16_t port = 0;
};

absl::StatusOr<std::unique_ptr<ExchangeProcess>> JoinThrough(Communicator& mpi,
                                                             const CommunicatorOptions& options) {
  Socket listener;
  Meeting meeting;
  if (mpi.rank() == 0) {
    const char* const host = std::getenv("DTNN_BENCHMARK_HOST");
    DTNN_ASSIGN_OR_RETURN(listener,
                          Listen({.host = host == nullptr ? "127.0.0.1" : host, .port = 0}));
    DTNN_ASSIGN_OR_RETURN(const Endpoint here, listener.Local());
    here.host.copy(meeting.host.data(), meeting.host.size() - 1);
    DTNN_ASSIGN_OR_RETURN(const std::string secret, JobSecret::NewText());
    secret.copy(meeting.secret.data(), meeting.secret.size());
    meeting.port = here.port;
  }
  DTNN_ASSIGN_OR_RETURN(const Tensor all, Tensor::Zeros(DType::kUint8, {int64_t(sizeof(meeting))}));
  std::memcpy(all.raw_data(), &meeting, sizeof(meeting));
  DTNN_RETURN_IF_ERROR(mpi.Broadcast(all, 0));
  std::memcpy(&meeting, all.raw_data(), sizeof(meeting));
  DTNN_ASSIGN_OR_RETURN(const JobSecret secret,
                        JobSecret::Of({meeting.secret.data(), meeting.secret.size()}));
  RendezvousOptions rendezvous = {.rank = mpi.rank(),
                                  .size = mpi.size(),
                                  .address = {.host = meeting.host.data(), .port = meeting.port}};
  if (mpi.rank() == 0) rendezvous.listener = listener.Release();
  return StartTcpProcess(options, rendezvous, secret);
}

absl::Status RunAll(int rounds, int64_t largest) {
  CommunicatorOptions options;
  options.timeout = std::chrono::minutes(1);
  DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<MpiProcess> process, MpiProcess::Start(options));
  DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<Communicator> mpi, process->Connect(options));
  DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<ExchangeProcess> ours, JoinThrough(*mpi, options));
  DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<Communicator> tcp, ours->Connect(options));
  if (mpi->rank() == 0) {
    std::printf("all-reduce of float32 between %d ranks\n", mpi->size());
    std::printf("%9s %12s %12s %9s %9s\n", "bytes", "tcp (us)", "MPI (us)", "speed", "median");
  }
  for (int64_t bytes = kSmallest; bytes <= largest; bytes *= 4) {
    DTNN_RETURN_IF_ERROR(Compare(*tcp, *mpi, bytes, rounds));
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace dtnn

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 10;
  const int64_t largest = argc > 2 ? std::atoll(argv[2]) : 16 << 20;
  if (argc > 3 || rounds < 1 || largest < 1) {
    std::cerr << "usage: mpirun -np 2 transport_benchmark [ROUNDS [LARGEST]]\n";
    return 2;
  }
  const absl::Status status = dtnn::RunAll(rounds, largest);
  if (!status.ok()) std::cerr << status << "\n";
  return status.ok() ? 0 : 1;
}
