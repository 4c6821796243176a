// The sum of arrays in plain loops and double precision: the definition that implementations are
// tested against.

#ifndef DTNN_KERNELS_ADD_REFERENCE_H_
#define DTNN_KERNELS_ADD_REFERENCE_H_

#include <cstddef>
#include <span>
#include <vector>

namespace dtnn::reference {

inline void Add(std::span<const std::vector<double>> inputs, std::span<double> y, bool accumulate) {
  for (size_t i = 0; i < y.size(); ++i) {
    double sum = accumulate ? y[i] : 0;
    for (const std::vector<double>& x : inputs) sum += x[i];
    y[i] = sum;
  }
}

}  // namespace dtnn::reference

#endif  // DTNN_KERNELS_ADD_REFERENCE_H_
