// What a gate does, for the CPU and for GPUs (gate.h).

#ifndef DTNN_KERNELS_UPDATE_GATE_BODIES_H_
#define DTNN_KERNELS_UPDATE_GATE_BODIES_H_

#include <cmath>
#include <cstdint>

#include "tensor/gpu/kernel.h"

namespace dtnn {

template <typename T>
struct WatchBody {
  const T* losses;
  int64_t count;
  int32_t* closed;

  void Declare(int64_t, gpu::Accesses& accesses) {
    accesses.Reads(losses, count);
    accesses.Writes(closed, 1);
  }
  template <class Group>
  DTNN_HOST_DEVICE void operator()(int64_t, Group group) const {
    int32_t found = 0;
    for (int64_t i = group.lane(); i < count; i += group.size()) {
      // x - x is 0 for finite numbers only.
      if (!(losses[i] - losses[i] == 0)) found = 1;
    }
    found = group.Max(found);
    if (group.lane() == 0 && found != 0) *closed = 1;
  }
};

struct ClipBody {
  const double *squares, *scale;
  double limit;
  double *norm, *factor;

  void Declare(int64_t, gpu::Accesses& accesses) {
    accesses.Reads(squares, 1);
    accesses.Reads(scale, 1);
    accesses.Writes(norm, 1);
    accesses.Writes(factor, 1);
  }
  DTNN_HOST_DEVICE void operator()(int64_t) const {
    *norm = *scale * std::sqrt(*squares);
    *factor = *norm > limit ? limit / *norm : 1;
  }
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_UPDATE_GATE_BODIES_H_
