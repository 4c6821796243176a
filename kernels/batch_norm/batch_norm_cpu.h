// What the CPU implementation of BatchNorm shares between its files: one pass over an activation,
// seen as rows of channels (NHWC, vectors) or as planes of one channel each (NCHW). For
// batch_norm_*.cc only.
//
// A pass takes of every element d = x - mean and, where it reads dy, g = dy, or 0 where a relu cut
// the output off: scale * d + shift <= 0, or, after an addition, the output itself, by which dy is
// cut once, where it stands. A pass adds up two sums per channel, or writes `out`.

#ifndef DTNN_KERNELS_BATCH_NORM_BATCH_NORM_CPU_H_
#define DTNN_KERNELS_BATCH_NORM_BATCH_NORM_CPU_H_

#include <cstdint>

#include "kernels/batch_norm/batch_norm.h"
#include "kernels/elementwise/operands.h"

namespace dtnn {

enum class BatchNormStep : uint8_t {
  kMoments,    // sums of d and of d * d
  kApply,      // out = scale * d + shift (+ other, the addend), at least 0 with a relu
  kGradients,  // sums of g and of g * d; cutting, out = g by other, which is y
  kCut,        // out = g by other, which is y
  kData,       // out = scale * g + slope * d + offset (+ out)
};

struct BatchNormPass {
  BatchNormStep step = BatchNormStep::kMoments;
  DType dtype = DType::kFloat32;
  bool add = false, relu = false, accumulate = false;
  bool planes = false;
  int64_t channels = 0;
  int64_t rows = 0, columns = 0;  // rows and their channels; or images and elements of a plane
  // The pitch is from row to row or from image to image.
  Operand x = {}, dy = {}, other = {}, out = {};
  // An array of WideOf the dtype per coefficient: one element per column of a row, or per channel
  // of planes.
  enum Coefficient : uint8_t { kMean, kScale, kShift, kSlope, kOffset, kCoefficients };
  const std::byte* coefficients = nullptr;
  int64_t coefficient_pitch = 0;  // elements from one array to the next

  template <typename T>
  const T* At(Coefficient coefficient) const {
    return reinterpret_cast<const T*>(coefficients) + coefficient * coefficient_pitch;
  }
  bool reads_dy() const { return step >= BatchNormStep::kGradients; }
  bool reads_other() const {
    return step == BatchNormStep::kCut || (step == BatchNormStep::kApply && add) ||
           (step == BatchNormStep::kGradients && add && relu);
  }
};

// Over the whole pass, on all threads. `scratch` has BatchNormScratchBytes; the coefficients are
// one element per channel. Sums: (channels,) each, overwritten.
size_t BatchNormScratchBytes(const BatchNormSpec& spec);
void BatchNormSum(const BatchNormPass& pass, std::byte* scratch, double* sum1, double* sum2);
void BatchNormMap(const BatchNormPass& pass, std::byte* scratch);

// The most columns that are summed at once.
inline constexpr int64_t kBatchNormStripe = 512;

// Adds the sums of columns [first, first + count), count <= kBatchNormStripe, over rows [begin,
// end).
void BatchNormSumRows(const BatchNormPass& pass, int64_t begin, int64_t end, int64_t first,
                      int64_t count, double* sum1, double* sum2);
void BatchNormMapRows(const BatchNormPass& pass, int64_t begin, int64_t end);
// The most channels of planes that are summed at once.
inline constexpr int64_t kBatchNormTogether = 16;
// Adds the sums of channels [first, first + channels), channels <= kBatchNormTogether, over images
// [begin, end).
void BatchNormSumPlanes(const BatchNormPass& pass, int64_t first, int64_t channels, int64_t begin,
                        int64_t end, double* sum1, double* sum2);
// Planes are numbered image by image.
void BatchNormMapPlanes(const BatchNormPass& pass, int64_t begin, int64_t end);

// The coefficients of all channels, while they are made. Statistics are those of a batch; gamma,
// beta and their gradients are of the dtype.
struct BatchNormChannels {
  DType dtype = DType::kFloat32;  // of the coefficients and parameters: WideOf the spec's
  int64_t channels = 0;
  double epsilon = 0;
  std::byte* coefficients = nullptr;
  int64_t pitch = 0;

  template <typename T>
  T* At(BatchNormPass::Coefficient coefficient) const {
    return reinterpret_cast<T*>(coefficients) + coefficient * pitch;
  }
};

// kMean := the mean of some elements of each channel that lie far apart (none in the corner of an
// image): a value not far from the others, from which their differences are small. `sums` is
// scratch.
void BatchNormSetPivot(const BatchNormPass& pass, const BatchNormChannels& channels, double* sums);
// From sums of differences from that, and of their squares, over `count` elements, in place.
void BatchNormFinishMoments(const BatchNormChannels& channels, double count,
                            const BatchStatistics& statistics);
// kMean, kScale and kShift. The statistics are float64 or of the dtype; a variance below 0 counts
// as 0.
void BatchNormSetLines(const BatchNormChannels& channels, const Tensor& mean,
                       const Tensor& variance, const BatchNormParameters& parameters);
// From kMean and the sums of g and of g * d.
void BatchNormFinishGradients(const BatchNormChannels& channels, const BatchStatistics& statistics,
                              const double* beta_sums, const double* gamma_sums,
                              const BatchNormGradients& gradients);
// kSlope and kOffset, from kMean.
void BatchNormSetSlopes(const BatchNormChannels& channels, double count,
                        const BatchStatistics& statistics, const BatchNormParameters& parameters,
                        const BatchNormGradients& gradients);

}  // namespace dtnn

#endif  // DTNN_KERNELS_BATCH_NORM_BATCH_NORM_CPU_H_
