// What the files of the conformance suite share.

#ifndef DTNN_COMM_TESTING_CONFORMANCE_CHECKS_H_
#define DTNN_COMM_TESTING_CONFORMANCE_CHECKS_H_

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "comm/communicator.h"
#include "tools/testing/tensors.h"

namespace dtnn::testing {

// Nanoseconds of the clock that all threads and processes of a host share.
inline double Now() { return double(std::chrono::steady_clock::now().time_since_epoch().count()); }

// A rank checks by the status that it returns.
inline absl::Status Expect(bool condition, const std::string& what) {
  return condition ? absl::OkStatus() : absl::InternalError(what);
}

constexpr DType kDTypes[] = {DType::kFloat32, DType::kFloat64, DType::kUint8, DType::kInt32,
                             DType::kInt64};
constexpr ReduceOp kOps[] = {ReduceOp::kSum, ReduceOp::kMin, ReduceOp::kMax};

inline std::string Bytes(const Tensor& tensor) {
  return std::string(reinterpret_cast<const char*>(tensor.raw_data()),
                     size_t(tensor.num_elements()) * SizeOf(tensor.dtype()));
}

// What each rank contributes: small integers, which the type can hold and add exactly.
inline std::vector<std::vector<double>> Contributions(DType dtype, int64_t size, int ranks) {
  std::vector<std::vector<double>> all;
  for (int rank = 0; rank < ranks; ++rank) {
    all.push_back(Values(IntegerTensor(DType::kFloat64, {size}, uint64_t(size + 31 * rank))));
    if (dtype != DType::kUint8) continue;
    for (double& value : all.back()) value = std::abs(value);
  }
  return all;
}

inline std::vector<double> Combined(ReduceOp op, const std::vector<std::vector<double>>& all) {
  std::vector<double> result = all[0];
  for (size_t rank = 1; rank < all.size(); ++rank) {
    const std::vector<double>& x = all[rank];
    for (size_t i = 0; i < result.size(); ++i) {
      if (op == ReduceOp::kSum) result[i] += x[i];
      if (op == ReduceOp::kMin) result[i] = std::min(result[i], x[i]);
      if (op == ReduceOp::kMax) result[i] = std::max(result[i], x[i]);
    }
  }
  return result;
}

}  // namespace dtnn::testing

#endif  // DTNN_COMM_TESTING_CONFORMANCE_CHECKS_H_
