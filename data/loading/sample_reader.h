// The samples of a batch as training sees them: read from the data set, changed by transforms,
// normalised and mixed (in the order that loader.h gives). A function of the epoch and of the
// positions in its order alone (with Poisson sampling, of Sampler::Key), whichever thread reads
// them and in what pieces.

#ifndef DTNN_DATA_LOADING_SAMPLE_READER_H_
#define DTNN_DATA_LOADING_SAMPLE_READER_H_

#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "data/loading/loader.h"
#include "data/loading/sampler.h"
#include "data/preprocessing.h"
#include "tensor/tensor.h"

namespace dtnn {

// Threads may use one at the same time, each with scratch memory of its own.
class SampleReader {
 public:
  struct Scratch {
    Tensor sample;             // for transforms
    Tensor labels;             // for those of labels of pixels: of two images
    Tensor next, next_target;  // for mixup: the sample after those that are read
  };

  // `bytes`: null for batches of values.
  SampleReader(std::shared_ptr<const Dataset> dataset, Split split, const LoaderOptions& options,
               std::shared_ptr<const ByteImagesSpec> bytes);

  // ResourceExhausted without the memory.
  absl::StatusOr<Scratch> NewScratch() const;
  // A batch of `rows` samples; with mixup, it has mixed targets too, and of bytes what makes values
  // of them. ResourceExhausted without the memory.
  absl::StatusOr<Batch> NewBatch(int64_t rows) const;

  // Reads the samples at the places of `slice` in the order of `epoch`, which `sampler` has begun,
  // into `to`, a batch of slice.count samples. `indices`: scratch memory for slice.count of them.
  absl::Status Read(const Sampler& sampler, int64_t epoch, const Sampler::Slice& slice,
                    std::span<int64_t> indices, const Scratch& scratch, const Batch& to) const;

 private:
  absl::Status ReadBytes(const Sampler& sampler, int64_t epoch, int64_t place,
                         std::span<const int64_t> indices, const Scratch& scratch,
                         const Batch& to) const;
  void Change(const Sampler& sampler, const Tensor& x, int64_t epoch, int64_t place,
              const Scratch& scratch) const;
  void MoveLabelsOf(const Sampler& sampler, const Tensor& targets, int64_t epoch, int64_t place,
                    const Scratch& scratch) const;
  template <typename T>
  void ChangeValues(const Sampler& sampler, const Tensor& x, int64_t epoch, int64_t place,
                    const Scratch& scratch) const;
  absl::Status ReadNext(const Sampler& sampler, int64_t epoch, int64_t place,
                        const Scratch& scratch) const;
  template <typename T>
  absl::Status MixSamples(int64_t epoch, int64_t place, const Scratch& scratch,
                          const Batch& to) const;

  const std::shared_ptr<const Dataset> dataset_;
  const Split split_;
  const LoaderOptions options_;
  const Preprocessing::Input input_;
  const std::shared_ptr<const ByteImagesSpec> bytes_;
};

}  // namespace dtnn

#endif  // DTNN_DATA_LOADING_SAMPLE_READER_H_
