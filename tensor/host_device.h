// DTNN_HOST_DEVICE: before functions that kernels call too, which nvcc compiles for both sides.

#ifndef DTNN_TENSOR_HOST_DEVICE_H_
#define DTNN_TENSOR_HOST_DEVICE_H_

#ifdef __CUDACC__
#define DTNN_HOST_DEVICE __host__ __device__
#else
#define DTNN_HOST_DEVICE
#endif

#endif  // DTNN_TENSOR_HOST_DEVICE_H_
