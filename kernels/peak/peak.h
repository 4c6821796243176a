// What this machine could do at best, measured: the denominators of every "% of peak" that
// profiles and benchmarks print. Machines throttle and neighbours disturb, so ask just before and
// just after.

#ifndef DTNN_KERNELS_PEAK_PEAK_H_
#define DTNN_KERNELS_PEAK_PEAK_H_

#include "tensor/dtype.h"

namespace dtnn {

// 1e9 floating-point operations per second of `threads` threads together (one FMA counts two),
// float32 or float64: independent FMAs on registers in the widest vectors of this CPU. The best of
// several runs of about 20 ms each.
double MeasureFmaPeakGflops(int threads, DType dtype);

// The same of products of bfloat16 in tiles, with their loads from the L1 cache: what a kernel
// of many tiles can reach. 0 where there is an AmxRefusal (kernels/amx).
double MeasureTilePeakGflops(int threads);

// The same of dot products of pairs of bfloat16 in vectors; 0 where there is a DotRefusal.
double MeasureDotPeakGflops(int threads);

// 1e9 bytes per second, read and written counted once each, when `threads` threads copy 64 MiB each
// between buffers of their own; the best of several runs.
double MeasureCopyBandwidth(int threads);

}  // namespace dtnn

#endif  // DTNN_KERNELS_PEAK_PEAK_H_
