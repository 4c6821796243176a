#include "models/training/privacy/private_gradients.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "comm/federation/privacy/privacy.h"
#include "comm/secrets/ckks/samplers.h"
#include "comm/secrets/crypto/chacha20_stream.h"
#include "tensor/errors.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

using federation::kGridPerDeviation;

// To the nearest whole number, of numbers up to 2^51: an addition whose result has no other bits.
double Rounded(double x) {
  constexpr double kMagic = 0x1.8p52;
  return (x + kMagic) - kMagic;
}

template <typename T>
double SumOfSquaresOf(const T* x, std::span<const ArenaRange> ranges) {
  double squares = 0;
  for (const ArenaRange& range : ranges) {
    for (int64_t i = range.begin; i < range.end; ++i) squares += double(x[i]) * double(x[i]);
  }
  return squares;
}

template <typename T>
void AddRounded(const T* x, double factor, std::span<const ArenaRange> ranges, double* sum) {
  for (const ArenaRange& range : ranges) {
    for (int64_t i = range.begin; i < range.end; ++i) *sum++ += Rounded(factor * double(x[i]));
  }
}

template <typename T>
void Write(std::span<const double> values, std::span<const ArenaRange> ranges, T* to) {
  const double* from = values.data();
  for (const ArenaRange& range : ranges) {
    for (int64_t i = range.begin; i < range.end; ++i) to[i] = T(*from++);
  }
}

std::vector<ArenaRange> TrainedRanges(const Graph& graph, const ParameterStore& store) {
  std::vector<ArenaRange> ranges;
  for (int n = 0; n < int(graph.nodes().size()); ++n) {
    const Node& node = graph.nodes()[size_t(n)];
    for (int p = 0; p < int(node.parameters.size()); ++p) {
      if (node.frozen || !node.parameters[size_t(p)].trainable) continue;
      const int64_t begin = store.Offset(n, p);
      ranges.push_back({begin, begin + node.parameters[size_t(p)].shape.NumElements()});
    }
  }
  return ranges;
}

}  // namespace

absl::Status PrivateGradients::CheckNumbers(const PrivateTraining& options) {
  const auto in = [](double x, double low, double high) { return x >= low && x <= high; };
  if (!in(options.clip, 1e-30, 1e12) || !in(options.noise, 0.01, 1e6) ||
      !in(options.delta, 1e-12, 0.5)) {
    return InvalidArgument("differential privacy of samples with clip ", options.clip, ", noise ",
                           options.noise, ", delta ", options.delta,
                           ": expected 1e-30 to 1e12, 0.01 to 1e6, 1e-12 to 0.5");
  }
  return absl::OkStatus();
}

absl::Status PrivateGradients::Check(const PrivateTraining& options, const Graph& graph) {
  DTNN_RETURN_IF_ERROR(CheckNumbers(options));
  for (const Node& node : graph.nodes()) {
    if (node.frozen) continue;
    for (const ParameterSpec& parameter : node.parameters) {
      if (parameter.trainable) continue;
      return InvalidArgument(
          "differential privacy of samples: layer ", node.name,
          " normalises the samples of a batch together, and its running statistics have no noise; "
          "use a group normalisation, or freeze the layer");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<PrivateGradients>> PrivateGradients::Create(
    const PrivateTraining& options, const Graph& graph, const ParameterStore& store) {
  DTNN_RETURN_IF_ERROR(Check(options, graph));
  std::unique_ptr<PrivateGradients> made(
      new PrivateGradients(options, TrainedRanges(graph, store)));
  if (made->longest_ < 0.9 * options.clip) {
    return InvalidArgument("differential privacy of samples with noise ", options.noise,
                           ": too much for ", made->parameters_,
                           " parameters: rounding to its last bits would cut off more than a tenth "
                           "of each gradient");
  }
  if (made->options_.random == nullptr) {
    DTNN_ASSIGN_OR_RETURN(ChaCha20Stream random, ChaCha20Stream::Random());
    made->options_.random = std::make_shared<ChaCha20Stream>(std::move(random));
  }
  // One of its own, so that noise does not depend on how many words are drawn.
  Secret seed;
  made->options_.random->Fill(seed.bytes());
  DTNN_ASSIGN_OR_RETURN(ChaCha20Stream words, ChaCha20Stream::Create(seed.bytes()));
  made->words_ = std::make_shared<ChaCha20Stream>(std::move(words));
  return made;
}

PrivateGradients::PrivateGradients(const PrivateTraining& options, std::vector<ArenaRange> trained)
    : options_(options),
      trained_(std::move(trained)),
      grid_(options.noise * options.clip / kGridPerDeviation) {
  for (const ArenaRange& range : trained_) parameters_ += range.end - range.begin;
  longest_ = federation::LongestBeforeRounding(options.clip, grid_, size_t(parameters_));
}

void PrivateGradients::Add(const Tensor& gradients, Sum& sum) const {
  const bool narrow = gradients.dtype() == DType::kFloat32;
  const double squares = narrow ? SumOfSquaresOf(gradients.data<float>(), trained_)
                                : SumOfSquaresOf(gradients.data<double>(), trained_);
  if (!std::isfinite(squares)) return;
  const double norm = std::sqrt(squares);
  const double factor = (norm > longest_ ? longest_ / norm : 1) / grid_;
  if (narrow) {
    AddRounded(gradients.data<float>(), factor, trained_, sum.data());
  } else {
    AddRounded(gradients.data<double>(), factor, trained_, sum.data());
  }
}

void PrivateGradients::Draw(std::span<uint64_t> words) { words_->FillWords(words); }

void PrivateGradients::Finish(std::span<const Sum> sums, double mean, const Tensor& gradients) {
  std::vector<int64_t> noise(static_cast<size_t>(parameters_));
  ckks::SampleGaussian(*options_.random, kGridPerDeviation, noise);
  Sum total(noise.begin(), noise.end());
  for (const Sum& sum : sums) {
    for (size_t i = 0; i < total.size(); ++i) total[i] += sum[i];
  }
  for (double& x : total) x *= grid_ / mean;
  if (gradients.dtype() == DType::kFloat32) {
    Write(total, trained_, gradients.data<float>());
  } else {
    Write(total, trained_, gradients.data<double>());
  }
}

}  // namespace dtnn
