#include "models/c/dtnn.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_split.h"
#include "models/serving/predictor.h"
#include "tensor/errors.h"
#include "tensor/text/number.h"
#include "tensor/text/version.h"

struct dtnn_model {
  std::unique_ptr<dtnn::Predictor> predictor;
  int64_t batch = 0;
  std::string warnings = {};
  std::vector<std::string> output_names = {};
};

namespace dtnn {
namespace {

// Has a fixed size, so that an error can be reported without memory.
thread_local char last_error[4096] = "";

int Fail(std::string_view message) {
  const size_t length = std::min(message.size(), sizeof(last_error) - 1);
  std::memcpy(last_error, message.data(), length);
  last_error[length] = '\0';
  return -1;
}

int Fail(const absl::Status& status) {
  return Fail(std::string_view(status.message().data(), status.message().size()));
}

// No exception leaves the library. `call` returns 0, or -1 after Fail.
int Guarded(absl::FunctionRef<int()> call) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return Fail("out of memory");
  } catch (const std::exception& error) {
    return Fail(error.what());
  } catch (...) {
    return Fail("unknown error");
  }
}

int Missing(std::string_view what) { return Fail(StrCat(what, " is NULL")); }

// "batch-size=8 math-mode=int8"
absl::StatusOr<PredictorOptions> ParseOptions(std::string_view text) {
  PredictorOptions options;
  for (const absl::string_view option :
       absl::StrSplit(absl::string_view(text.data(), text.size()), ' ', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> pair =
        absl::StrSplit(option, absl::MaxSplits('=', 1));
    const auto& [name, value] = pair;
    if (name == "batch-size") {
      const std::optional<int64_t> number = NumberIn<int64_t>(value);
      if (!number || *number < 1) {
        return InvalidArgument("option ", Quoted(std::string(option)), ": must be a number >= 1");
      }
      options.batch = *number;
    } else if (name == "math-mode") {
      if (!SetMathMode(value, options)) {
        return InvalidArgument("option ", Quoted(std::string(option)),
                               ": must be fp32, bf16 or int8");
      }
    } else {
      return InvalidArgument("option ", Quoted(std::string(option)),
                             ": is unknown; there are batch-size=N and math-mode=MODE");
    }
  }
  return options;
}

const Graph& GraphOf(const dtnn_model& model) { return model.predictor->model().graph; }

int Predict(dtnn_model* model, size_t n, FillSample fill, float* outputs, size_t room) {
  if (outputs == nullptr) return Missing("outputs");
  if (n == 0) return Fail("n is 0; expected one or more samples");
  const size_t each = size_t(GraphOf(*model).output_shape().NumElements());
  if (room / each < n) {
    return Fail(StrCat("outputs has room for ", room, " values; ", n, " samples of model ",
                       GraphOf(*model).name(), " have ", each, " each"));
  }
  for (size_t begin = 0; begin < n; begin += size_t(model->batch)) {
    const int64_t count = int64_t(std::min(size_t(model->batch), n - begin));
    const absl::StatusOr<Tensor> y = model->predictor->PredictFilled(int64_t(begin), count, fill);
    if (!y.ok()) return Fail(y.status());
    double beyond = 0;
    DispatchFloating(y->dtype(), [&]<typename T>(T) {
      float* output = outputs + begin * each;
      for (const T value : std::span(y->data<T>(), size_t(y->num_elements()))) {
        if (std::abs(value) > T(std::numeric_limits<float>::max())) {
          beyond = value;
        } else {
          *output++ = float(value);
        }
      }
    });
    if (beyond != 0) {
      return Fail(StrCat("model ", GraphOf(*model).name(), ": an output, ", beyond,
                         ", is beyond the range of float"));
    }
  }
  return 0;
}

}  // namespace
}  // namespace dtnn

using dtnn::Fail;
using dtnn::GraphOf;
using dtnn::Guarded;
using dtnn::Missing;

const char* dtnn_version(void) { return dtnn::Version().data(); }

const char* dtnn_last_error(void) { return dtnn::last_error; }

dtnn_model* dtnn_load(const char* path, const char* options) {
  std::unique_ptr<dtnn_model> model;
  const int failed = Guarded([&] {
    if (path == nullptr) return Missing("path");
    const auto parsed = dtnn::ParseOptions(options == nullptr ? "" : options);
    if (!parsed.ok()) return Fail(parsed.status());
    auto predictor = dtnn::Predictor::Load(path, *parsed);
    if (!predictor.ok()) return Fail(predictor.status());
    model = std::make_unique<dtnn_model>();
    model->predictor = *std::move(predictor);
    model->batch = parsed->batch;
    for (const std::string& line : model->predictor->warnings()) {
      model->warnings += (model->warnings.empty() ? "" : "\n") + line;
    }
    const int64_t outputs = GraphOf(*model).output_shape().NumElements();
    for (int64_t i = 0; i < outputs; ++i) {
      model->output_names.push_back(model->predictor->ClassName(i));
    }
    return 0;
  });
  return failed != 0 ? nullptr : model.release();
}

void dtnn_free(dtnn_model* model) { delete model; }

const char* dtnn_name(const dtnn_model* model) {
  if (model == nullptr) return Missing("model"), nullptr;
  return GraphOf(*model).name().c_str();
}

const char* dtnn_warnings(const dtnn_model* model) {
  if (model == nullptr) return Missing("model"), nullptr;
  return model->warnings.c_str();
}

int dtnn_input_shape(const dtnn_model* model, int64_t* extents, int room) {
  if (model == nullptr) return Missing("model");
  if (extents == nullptr && room > 0) return Missing("extents");
  const dtnn::Shape& shape = GraphOf(*model).input_shape();
  for (int i = 0; i < std::min(room, int(shape.rank())); ++i) extents[i] = shape[i];
  return int(shape.rank());
}

const char* dtnn_layout(const dtnn_model* model) {
  if (model == nullptr) return Missing("model"), nullptr;
  return GraphOf(*model).format() == dtnn::TensorFormat::kNCHW ? "NCHW" : "NHWC";
}

int64_t dtnn_num_outputs(const dtnn_model* model) {
  if (model == nullptr) return Missing("model");
  return GraphOf(*model).output_shape().NumElements();
}

int64_t dtnn_num_parameters(const dtnn_model* model) {
  if (model == nullptr) return Missing("model");
  return GraphOf(*model).num_parameters();
}

int dtnn_output_kind(const dtnn_model* model) {
  if (model == nullptr) return Missing("model");
  switch (model->predictor->output_kind()) {
    case dtnn::OutputKind::kClasses:
      return DTNN_CLASSES;
    case dtnn::OutputKind::kLabels:
      return DTNN_LABELS;
    case dtnn::OutputKind::kValues:
      break;
  }
  return DTNN_VALUES;
}

const char* dtnn_output_name(const dtnn_model* model, int64_t output) {
  if (model == nullptr) return Missing("model"), nullptr;
  if (output >= 0 && output < dtnn_num_outputs(model)) {
    return model->output_names[size_t(output)].c_str();
  }
  Guarded([&] {
    return Fail(dtnn::StrCat("there is no output ", output, "; model ", GraphOf(*model).name(),
                             " has ", dtnn_num_outputs(model)));
  });
  return nullptr;
}

int dtnn_predict_files(dtnn_model* model, const char* const* paths, size_t n, float* outputs,
                       size_t room) {
  return Guarded([&] {
    if (model == nullptr) return Missing("model");
    if (paths == nullptr) return Missing("paths");
    const auto images = model->predictor->images();
    if (!images.ok()) return Fail(images.status());
    const auto read = [&](int64_t index, const dtnn::Tensor& x, int64_t row) {
      if (paths[index] != nullptr) return (*images)->Read(paths[index], x, row);
      return dtnn::InvalidArgument("paths[", index, "] is NULL");
    };
    return dtnn::Predict(model, n, read, outputs, room);
  });
}

int dtnn_predict_images(dtnn_model* model, const void* const* images, const size_t* sizes, size_t n,
                        float* outputs, size_t room) {
  return Guarded([&] {
    if (model == nullptr) return Missing("model");
    if (images == nullptr) return Missing("images");
    if (sizes == nullptr) return Missing("sizes");
    const auto input = model->predictor->images();
    if (!input.ok()) return Fail(input.status());
    const auto decode = [&](int64_t index, const dtnn::Tensor& x, int64_t row) {
      const std::string name = dtnn::StrCat("images[", index, "]");
      if (images[index] == nullptr) return dtnn::InvalidArgument(name, " is NULL");
      const auto* bytes = static_cast<const uint8_t*>(images[index]);
      return (*input)->Decode({bytes, sizes[index]}, name, x, row);
    };
    return dtnn::Predict(model, n, decode, outputs, room);
  });
}

int dtnn_predict_pixels(dtnn_model* model, const uint8_t* pixels, int64_t height, int64_t width,
                        int64_t channels, size_t n, float* outputs, size_t room) {
  constexpr int64_t kMostPixels = dtnn::kMaxImagePixels, kMostChannels = 4;
  return Guarded([&] {
    if (model == nullptr) return Missing("model");
    if (pixels == nullptr) return Missing("pixels");
    const auto input = model->predictor->images();
    if (!input.ok()) return Fail(input.status());
    if (height < 1 || width < 1 || width > kMostPixels / height || channels < 1 ||
        channels > kMostChannels) {
      return Fail(dtnn::StrCat("images of ", height, " x ", width, " pixels and ", channels,
                               " channels: expected at least 1 x 1, at most ", kMostPixels,
                               " pixels, and 1 to ", kMostChannels, " channels"));
    }
    const size_t bytes = size_t(height * width * channels);
    const auto convert = [&](int64_t index, const dtnn::Tensor& x, int64_t row) {
      const uint8_t* begin = pixels + index * bytes;
      const dtnn::Image image = {
          .extents = {.height = height, .width = width, .channels = channels},
          .pixels = {begin, begin + bytes}};
      return (*input)->Convert(image, x, row);
    };
    return dtnn::Predict(model, n, convert, outputs, room);
  });
}

int dtnn_predict_floats(dtnn_model* model, const float* samples, size_t n, float* outputs,
                        size_t room) {
  return Guarded([&] {
    if (model == nullptr) return Missing("model");
    if (samples == nullptr) return Missing("samples");
    const size_t each = size_t(GraphOf(*model).input_shape().NumElements());
    const auto copy = [&](int64_t index, const dtnn::Tensor& x, int64_t row) {
      dtnn::DispatchFloating(x.dtype(), [&](auto zero) {
        using T = decltype(zero);
        std::ranges::copy(std::span(samples + index * each, each),
                          x.data<T>() + size_t(row) * each);
      });
      return absl::OkStatus();
    };
    return dtnn::Predict(model, n, copy, outputs, room);
  });
}
