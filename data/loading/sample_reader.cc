#include "data/loading/sample_reader.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "data/transforms/mixup.h"
#include "tensor/errors.h"
#include "tensor/shape.h"

namespace dtnn {

SampleReader::SampleReader(std::shared_ptr<const Dataset> dataset, Split split,
                           const LoaderOptions& options,
                           std::shared_ptr<const ByteImagesSpec> bytes)
    : dataset_(std::move(dataset)),
      split_(split),
      options_(options),
      input_(dataset_->preprocessing().input),
      bytes_(std::move(bytes)) {}

absl::StatusOr<SampleReader::Scratch> SampleReader::NewScratch() const {
  Scratch scratch;
  if (!options_.transforms.empty() && dataset_->target_kind() == TargetKind::kPixels) {
    const ImageExtents sample = dataset_->sample();
    DTNN_ASSIGN_OR_RETURN(scratch.labels, Tensor::Allocate(Device::Cpu(), DType::kFloat32,
                                                           Shape{2, sample.height, sample.width}));
  }
  if (bytes_ != nullptr) return scratch;
  if (!options_.transforms.empty()) {
    DTNN_ASSIGN_OR_RETURN(scratch.sample,
                          Tensor::Allocate(Device::Cpu(), options_.dtype,
                                           SampleShape(dataset_->sample(), options_.format)));
  }
  if (options_.mixup > 0) {
    DTNN_ASSIGN_OR_RETURN(Batch next, NewBatch(1));
    scratch.next = std::move(next.x);
    scratch.next_target = std::move(next.targets);
  }
  return scratch;
}

absl::StatusOr<Batch> SampleReader::NewBatch(int64_t rows) const {
  const TensorFormat format = bytes_ == nullptr ? options_.format : bytes_->from;
  const Shape sample = SampleShape(dataset_->sample(), format);
  std::vector<int64_t> extents = {rows};
  extents.insert(extents.end(), sample.extents().begin(), sample.extents().end());
  DTNN_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(extents));
  const DType dtype = bytes_ == nullptr ? options_.dtype : DType::kUint8;
  absl::StatusOr<Tensor> x = Tensor::Allocate(Device::Cpu(), dtype, shape);
  if (!x.ok()) {
    return absl::Status(x.status().code(), StrCat("batches of shape ", shape.ToString(), ": ",
                                                  x.status().message(), "; use a smaller batch"));
  }
  Batch batch;
  batch.x = *std::move(x);
  DTNN_ASSIGN_OR_RETURN(batch.targets,
                        Tensor::Allocate(Device::Cpu(), TargetDType(*dataset_, options_.dtype),
                                         TargetShape(*dataset_, rows)));
  if (bytes_ != nullptr && bytes_->changes > 0) {
    DTNN_ASSIGN_OR_RETURN(
        batch.changes, Tensor::Allocate(Device::Cpu(), DType::kInt32, bytes_->changes_shape(rows)));
  }
  batch.bytes = bytes_;
  if (options_.mixup > 0) {
    DTNN_ASSIGN_OR_RETURN(batch.mixed_targets, Tensor::Allocate(Device::Cpu(), options_.dtype,
                                                                Shape{rows, dataset_->outputs()}));
  }
  return batch;
}

absl::Status SampleReader::Read(const Sampler& sampler, int64_t epoch, const Sampler::Slice& slice,
                                std::span<int64_t> indices, const Scratch& scratch,
                                const Batch& to) const {
  sampler.Indices(slice, indices);
  if (bytes_ != nullptr) return ReadBytes(sampler, epoch, slice.begin, indices, scratch, to);
  DTNN_RETURN_IF_ERROR(dataset_->Read(split_, indices, options_.format, to.x, to.targets));
  Change(sampler, to.x, epoch, slice.begin, scratch);
  MoveLabelsOf(sampler, to.targets, epoch, slice.begin, scratch);
  if (options_.mixup == 0) return absl::OkStatus();
  const int64_t next = (slice.begin + slice.count) % sampler.samples();
  DTNN_RETURN_IF_ERROR(ReadNext(sampler, epoch, next, scratch));
  return DispatchFloating(options_.dtype, [&](auto zero) {
    return MixSamples<decltype(zero)>(epoch, slice.begin, scratch, to);
  });
}

// The bytes of samples, the first of which is at `place` of the epoch's order, and what transforms
// would do to them.
absl::Status SampleReader::ReadBytes(const Sampler& sampler, int64_t epoch, int64_t place,
                                     std::span<const int64_t> indices, const Scratch& scratch,
                                     const Batch& to) const {
  DTNN_RETURN_IF_ERROR(dataset_->Read(split_, indices, bytes_->from, to.x, to.targets));
  MoveLabelsOf(sampler, to.targets, epoch, place, scratch);
  if (to.changes.empty()) return absl::OkStatus();
  auto* changes = reinterpret_cast<PixelChange*>(to.changes.data<int32_t>());
  for (size_t i = 0; i < indices.size(); ++i, changes += bytes_->changes) {
    DrawChanges(options_.transforms, options_.seed, epoch, sampler.Key(place + int64_t(i)),
                bytes_->sample, changes);
  }
  return absl::OkStatus();
}

// Does to the labels of pixels what transforms do to the pixels. As values they count from 1: a
// transform fills with 0 what has no pixel, and so no label.
void SampleReader::MoveLabelsOf(const Sampler& sampler, const Tensor& targets, int64_t epoch,
                                int64_t place, const Scratch& scratch) const {
  if (scratch.labels.empty()) return;
  const ImageExtents sample = dataset_->sample();
  const int64_t pixels = sample.height * sample.width;
  float* const values = scratch.labels.data<float>();
  const SampleImage<float> image = {
      .values = values, .scratch = values + pixels, .extents = {sample.height, sample.width, 1}};
  for (int64_t i = 0; i < targets.shape()[0]; ++i) {
    int32_t* const labels = targets.data<int32_t>() + i * pixels;
    std::transform(labels, labels + pixels, values,
                   [](int32_t label) { return float(label - kUnlabelledPixel); });
    MoveLabels(options_.transforms, options_.seed, epoch, sampler.Key(place + i), image);
    std::transform(values, values + pixels, labels,
                   [](float value) { return int32_t(value) + kUnlabelledPixel; });
  }
}

// Transforms and normalises samples, the first of which is at `place` of the epoch's order.
void SampleReader::Change(const Sampler& sampler, const Tensor& x, int64_t epoch, int64_t place,
                          const Scratch& scratch) const {
  DispatchFloating(options_.dtype, [&](auto zero) {
    ChangeValues<decltype(zero)>(sampler, x, epoch, place, scratch);
  });
}

template <typename T>
void SampleReader::ChangeValues(const Sampler& sampler, const Tensor& x, int64_t epoch,
                                int64_t place, const Scratch& scratch) const {
  if (!options_.transforms.empty()) {
    SampleImage<T> image = {.values = x.data<T>(),
                            .scratch = scratch.sample.data<T>(),
                            .extents = dataset_->sample(),
                            .format = options_.format,
                            .input = input_};
    for (int64_t i = 0; i < x.shape()[0]; ++i, image.values += image.size()) {
      ApplyTransforms(options_.transforms, options_.seed, epoch, sampler.Key(place + i), image);
    }
  }
  Normalize(options_.normalization, dataset_->sample(), options_.format,
            std::span<T>(x.data<T>(), size_t(x.num_elements())));
}

// The sample that the last one is mixed with. It may be of another piece, batch or rank, so it is
// read here as well.
absl::Status SampleReader::ReadNext(const Sampler& sampler, int64_t epoch, int64_t place,
                                    const Scratch& scratch) const {
  int64_t index = 0;
  sampler.Indices({place, 1, 1}, {&index, 1});
  DTNN_RETURN_IF_ERROR(
      dataset_->Read(split_, {&index, 1}, options_.format, scratch.next, scratch.next_target));
  Change(sampler, scratch.next, epoch, place, scratch);
  return absl::OkStatus();
}

// Mixes each sample with the next one.
template <typename T>
absl::Status SampleReader::MixSamples(int64_t epoch, int64_t place, const Scratch& scratch,
                                      const Batch& to) const {
  const int64_t count = to.x.shape()[0], outputs = dataset_->outputs();
  const size_t size = size_t(scratch.next.num_elements());
  const int32_t* labels = to.targets.data<int32_t>();
  T* x = to.x.data<T>();
  T* mixed = to.mixed_targets.data<T>();
  std::fill_n(mixed, count * outputs, T(0));
  for (int64_t i = 0; i < count; ++i, x += size, mixed += outputs) {
    const bool last = i + 1 == count;
    const int32_t own = labels[i];
    const int32_t other = last ? scratch.next_target.data<int32_t>()[0] : labels[i + 1];
    for (const int32_t label : {own, other}) {
      if (label >= 0 && label < outputs) continue;
      return InvalidArgument(dataset_->name(), ": a sample has label ", label, ", but there are ",
                             outputs, " classes");
    }
    const double share = MixupShare(options_.mixup, options_.seed, epoch, place + i);
    Mix(share, std::span<T>(x, size),
        std::span<const T>(last ? scratch.next.data<T>() : x + size, size));
    mixed[own] += T(share);
    mixed[other] += T(1 - share);
  }
  return absl::OkStatus();
}

}  // namespace dtnn
