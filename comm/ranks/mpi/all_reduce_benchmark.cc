// Our all-reduce in place against a plain MPI_Allreduce on the same memory, in one run:
//
//   mpirun -np 2 all_reduce_benchmark [ROUNDS]
//
// Per size: the time of a call, which is that of the slowest rank in the best of ROUNDS rounds (10)
// of some calls each; rounds of both kinds take turns. Rank 0 prints a table.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "comm/ranks/mpi/mpi_api.h"
#include "comm/ranks/mpi/mpi_process.h"
#include "tensor/status_macros.h"
#include "tensor/tensor.h"

namespace dtnn {
namespace {

constexpr int64_t kSmallest = 1 << 10, kLargest = 16 << 20;

// What a round moves at most, and its calls at most.
constexpr int64_t kRoundBytes = 64 << 20;
constexpr int64_t kRoundCalls = 200;

// Seconds of one of the calls on the slowest rank.
absl::StatusOr<double> TimeRound(Communicator& communicator, int64_t calls,
                                 absl::FunctionRef<absl::Status()> call) {
  using Clock = std::chrono::steady_clock;
  DTNN_RETURN_IF_ERROR(communicator.Barrier());
  const Clock::time_point begin = Clock::now();
  for (int64_t i = 0; i < calls; ++i) DTNN_RETURN_IF_ERROR(call());
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  DTNN_ASSIGN_OR_RETURN(const Tensor slowest,
                        Tensor::Allocate(Device::Cpu(), DType::kFloat64, {1}));
  *slowest.data<double>() = seconds / double(calls);
  DTNN_RETURN_IF_ERROR(communicator.AllReduce(slowest, ReduceOp::kMax));
  return *slowest.data<double>();
}

absl::Status Compare(MpiProcess& process, Communicator& communicator, int64_t bytes, int rounds) {
  DTNN_ASSIGN_OR_RETURN(const Tensor x,
                        Tensor::Zeros(DType::kFloat32, {bytes / int64_t(sizeof(float))}));
  const auto ours = [&] { return communicator.AllReduce(x); };
  const auto plain = [&] {
    int code = MPI_SUCCESS;
    process.Run([&] {
      code = MPI_Allreduce(MPI_IN_PLACE, x.raw_data(), int(x.num_elements()), MPI_FLOAT, MPI_SUM,
                           MPI_COMM_WORLD);
    });
    return MpiStatus(code, "MPI_Allreduce");
  };
  const int64_t calls = std::clamp<int64_t>(kRoundBytes / bytes, 1, kRoundCalls);
  double best_ours = 1e30, best_plain = 1e30;
  for (int round = 0; round < rounds; ++round) {
    DTNN_ASSIGN_OR_RETURN(const double time_ours, TimeRound(communicator, calls, ours));
    DTNN_ASSIGN_OR_RETURN(const double time_plain, TimeRound(communicator, calls, plain));
    best_ours = std::min(best_ours, time_ours);
    best_plain = std::min(best_plain, time_plain);
  }
  if (communicator.rank() == 0) {
    std::printf("%9lld %12.1f %12.1f %8.0f %% %9.2f\n", static_cast<long long>(bytes),
                best_ours * 1e6, best_plain * 1e6, 100 * best_plain / best_ours,
                double(bytes) / best_ours * 1e-9);
    std::fflush(stdout);
  }
  return absl::OkStatus();
}

absl::Status RunAll(int rounds) {
  CommunicatorOptions options;
  options.timeout = std::chrono::minutes(1);
  DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<MpiProcess> process, MpiProcess::Start(options));
  DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<Communicator> communicator,
                        process->Connect(options));
  if (communicator->rank() == 0) {
    std::printf("all-reduce in place of float32 between %d ranks\n", communicator->size());
    std::printf("%9s %12s %12s %10s %9s\n", "bytes", "ours (us)", "MPI (us)", "speed", "GB/s");
  }
  for (int64_t bytes = kSmallest; bytes <= kLargest; bytes *= 4) {
    DTNN_RETURN_IF_ERROR(Compare(*process, *communicator, bytes, rounds));
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace dtnn

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 10;
  if (argc > 2 || rounds < 1) {
    std::cerr << "usage: mpirun -np 2 all_reduce_benchmark [ROUNDS]\n";
    return 2;
  }
  const absl::Status status = dtnn::RunAll(rounds);
  if (!status.ok()) std::cerr << status << "\n";
  return status.ok() ? 0 : 1;
}
