// Rounds of a benchmark that several ranks run together.

#ifndef DTNN_COMM_TESTING_ROUNDS_H_
#define DTNN_COMM_TESTING_ROUNDS_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "benchmark/benchmark.h"
#include "comm/communicator.h"
#include "tensor/status_macros.h"
#include "tensor/tensor.h"

namespace dtnn::testing {

// Calls round() on all ranks, as often as the state of rank 0 says, which owns the clock and tells
// the others whether there is another round. The first error ends it.
inline absl::Status RunRounds(benchmark::State& state, Communicator& communicator,
                              absl::FunctionRef<absl::Status()> round) {
  DTNN_ASSIGN_OR_RETURN(const Tensor more, Tensor::Zeros(DType::kUint8, {1}));
  uint8_t& go_on = *more.data<uint8_t>();
  if (communicator.rank() > 0) {
    while (true) {
      DTNN_RETURN_IF_ERROR(communicator.Broadcast(more, 0));
      if (go_on == 0) return absl::OkStatus();
      DTNN_RETURN_IF_ERROR(round());
    }
  }
  for (auto _ : state) {
    go_on = 1;
    DTNN_RETURN_IF_ERROR(communicator.Broadcast(more, 0));
    DTNN_RETURN_IF_ERROR(round());
  }
  go_on = 0;
  return communicator.Broadcast(more, 0);
}

}  // namespace dtnn::testing

#endif  // DTNN_COMM_TESTING_ROUNDS_H_
