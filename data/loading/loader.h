// The batches of one rank, epoch after epoch, prepared ahead by background threads.
//
//   DTNN_ASSIGN_OR_RETURN(auto loader, Loader::Create(dataset, split, indices, options));
//   loader->StartEpoch(epoch);
//   for (;;) {
//     DTNN_ASSIGN_OR_RETURN(const Batch* batch, loader->Next());
//     if (batch == nullptr) break;
//     ...
//   }
//
// Which samples an epoch holds, in which order, and how steps are divided over the ranks is the
// business of sampler.h: every rank sees the same number of steps, and an epoch is a pure function
// of (seed, epoch), so a run resumes at any epoch without replaying those before.
//
// What happens to a sample, in this order and never otherwise:
//
//   1. central crop, 2. resize    the data set's business, of both splits (transformed.h, or inside
//                                 data sets of image files)
//   3. random changes             LoaderOptions::transforms, one after the other, for training only
//                                 (transform.h)
//   4. y = (x + offset) * scale   LoaderOptions::normalization, the same for all splits
//                                 (normalize.h)
//   5. mixup                      LoaderOptions::mixup, for training only, with the sample after it
//                                 in the epoch's order, of whatever batch and rank (mixup.h)
//
// Where a GPU does 3 and 4, batches hold bytes instead: as the data set has them, with what 3 has
// drawn for each sample and what 4 makes of each byte (LoaderOptions::bytes; byte_batches.h).
//
// A batch is read in pieces, which the threads share, so that all of them decode the images of the
// batch that is needed next. Results do not depend on the number of threads nor on timing, nor does
// the error that is seen when several samples have one.
//
// Memory: prefetch + 1 batches, allocated by Create; an epoch allocates nothing. One thread at a
// time may call the methods of a loader.

#ifndef DTNN_DATA_LOADING_LOADER_H_
#define DTNN_DATA_LOADING_LOADER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "data/loading/poisson_steps.h"
#include "data/normalize.h"
#include "data/transforms/transform.h"
#include "kernels/byte_images/byte_images.h"
#include "tensor/dtype.h"
#include "tensor/format.h"
#include "tensor/tensor.h"

namespace dtnn {

struct LoaderOptions {
  int64_t batch = 64;  // samples per rank in a full step
  int rank = 0;
  int ranks = 1;
  bool shuffle = true;  // a new order every epoch, the same on all ranks
  uint64_t seed = 0;
  int64_t steps_per_epoch = 0;  // 0: as many as the samples give
  TensorFormat format = TensorFormat::kNHWC;
  DType dtype = DType::kFloat32;
  int prefetch = 2;  // batches prepared ahead; 0: no thread, Next() reads
  int threads = 1;   // that prepare them
  TransformList transforms = {};
  Normalization normalization = {};
  double mixup = 0;  // alpha; 0: off. Only where there is one class per sample
  // Batches of bytes, where nothing stands against it (WhyNoBytes of byte_batches.h).
  bool bytes = false;
  // Poisson sampling by these words, one rank's: batches have `batch` samples on average, and may
  // be empty (sampler.h). Null: each epoch has each sample once. Not with mixup.
  RandomWords poisson = {};
};

// The threads that prepare batches without keeping training waiting, unless a user knows better:
// decoding images takes as long as training, converting bytes does not.
int LoaderThreads(const Dataset& dataset);

struct Batch {
  Tensor x;        // (count, sample in the format asked), the dtype asked, host, dense; or bytes
  Tensor targets;  // (count,) int32 or (count, outputs), as in dataset.h
  // With mixup, what a loss compares with: (count, outputs) probabilities, of x's dtype. Metrics go
  // by `targets`, the class that has the larger share. Else empty.
  Tensor mixed_targets = {};
  int64_t count = 0;         // samples of this rank in this step; 0 only with Poisson sampling
  int64_t global_count = 0;  // samples of all ranks in this step: what a mean divides by
  // Of a batch of bytes, else null: what makes values of x, which is uint8 of its bytes_shape, and
  // of the changes to each sample, int32 of its changes_shape, empty where there are none.
  std::shared_ptr<const ByteImagesSpec> bytes = {};
  Tensor changes = {};
};

class Loader {
 public:
  // `indices` are the samples of `split` to visit (see split.h), each once per epoch; none at all
  // makes an epoch of no steps. InvalidArgument for options that make no sense, for fewer samples
  // than ranks and for an index outside the split; ResourceExhausted without memory for the
  // batches.
  static absl::StatusOr<std::unique_ptr<Loader>> Create(std::shared_ptr<const Dataset> dataset,
                                                        Split split, std::vector<int64_t> indices,
                                                        const LoaderOptions& options);
  // Ends the background threads, also in the middle of an epoch.
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // Ends the current epoch, and leaves out the first `samples` samples of every epoch from now on;
  // steps are those of the rest (sampler.h). steps() and max_batch() may change, and memory is
  // allocated where batches become larger. After an error they are as before.
  absl::Status Skip(int64_t samples);

  // Begins epoch `epoch` (from 0) at step `first_step` (at most steps()), leaving the current one
  // if it has not ended.
  void StartEpoch(int64_t epoch, int64_t first_step = 0);

  // The next batch, valid until the next call of Next or StartEpoch; nullptr at the end of the
  // epoch. An error of the data set, or an exception of one, ends the epoch: the same error comes
  // until StartEpoch.
  absl::StatusOr<const Batch*> Next();

  // How long calls of Next have waited for data since Create, all of them together. Of a run's time
  // this is what faster data or more threads could save.
  double seconds_waited() const;

  const LoaderOptions& options() const;
  // Steps of an epoch, the same on every rank.
  int64_t steps() const;
  // Samples of an epoch over all ranks, skipped ones included.
  int64_t samples() const;
  // Samples of an epoch before its step `steps`, over all ranks, skipped ones included.
  int64_t SamplesBefore(int64_t steps) const;
  // The probability with which a step of Poisson sampling takes a sample; 0: there is none.
  double probability() const;
  // The largest Batch::count of any rank and step: what a plan must be made for. It is
  // options.batch or fewer, or one more where the samples left over do not suffice for a step; with
  // Poisson sampling more.
  int64_t max_batch() const;

 private:
  class Impl;
  explicit Loader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace dtnn

#endif  // DTNN_DATA_LOADING_LOADER_H_
