// How much of the average of the parameters a step keeps: d_t in update.h, for CPUs and GPUs.

#ifndef DTNN_KERNELS_UPDATE_AVERAGE_DECAY_H_
#define DTNN_KERNELS_UPDATE_AVERAGE_DECAY_H_

#include "tensor/gpu/kernel.h"

namespace dtnn {

// `step` counts from 1.
DTNN_HOST_DEVICE inline double AverageDecay(double decay, double step) {
  const double early = (1 + step) / (10 + step);
  return decay < early ? decay : early;
}

}  // namespace dtnn

#endif  // DTNN_KERNELS_UPDATE_AVERAGE_DECAY_H_
