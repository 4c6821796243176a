// Tables of kernels for float and double, one of each for every instruction set that Highway
// compiles a source for. `Table<T>` of HWY_NAMESPACE makes one; `CpuKernels<T>` is that of the best
// instruction set that the CPU has. Both take `parameters`, whose names are `names`: (Form form),
// (form).

#ifndef DTNN_KERNELS_SIMD_KERNEL_TABLES_H_
#define DTNN_KERNELS_SIMD_KERNEL_TABLES_H_

#include "hwy/highway.h"

#define DTNN_KERNEL_TABLES(Kernels, Table, parameters, names)                \
  const Kernels<float>* FloatTable parameters { return Table<float> names; } \
  const Kernels<double>* DoubleTable parameters { return Table<double> names; }

#define DTNN_EXPORT_KERNEL_TABLES(Kernels, CpuKernels, parameters, names) \
  namespace {                                                             \
  HWY_EXPORT(FloatTable);                                                 \
  HWY_EXPORT(DoubleTable);                                                \
  }                                                                       \
  template <>                                                             \
  const Kernels<float>& CpuKernels<float> parameters {                    \
    return *HWY_DYNAMIC_DISPATCH(FloatTable) names;                       \
  }                                                                       \
  template <>                                                             \
  const Kernels<double>& CpuKernels<double> parameters {                  \
    return *HWY_DYNAMIC_DISPATCH(DoubleTable) names;                      \
  }

#endif  // DTNN_KERNELS_SIMD_KERNEL_TABLES_H_
