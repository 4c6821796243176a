// ConvertBytes as a plain loop: the definition that tests compare the fast one with, bit for bit.

#ifndef DTNN_KERNELS_CONVERT_REFERENCE_H_
#define DTNN_KERNELS_CONVERT_REFERENCE_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace dtnn::reference {

template <typename T>
void ConvertBytes(std::span<const uint8_t> from, T scale, std::span<T> to) {
  for (size_t i = 0; i < from.size(); ++i) to[i] = T(from[i]) * scale;
}

}  // namespace dtnn::reference

#endif  // DTNN_KERNELS_CONVERT_REFERENCE_H_
