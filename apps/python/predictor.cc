#include "models/serving/predictor.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "apps/python/bindings.h"
#include "apps/python/errors.h"
#include "apps/python/numpy_types.h"
#include "apps/python/signals.h"
#include "data/normalize.h"
#include "models/graph/table.h"
#include "models/serving/best_predictions.h"
#include "tensor/errors.h"
#include "tensor/text/one_line.h"

namespace dtnn::python {
namespace py = pybind11;
namespace {

constexpr size_t kShownBytes = 200;

using Outputs = py::array_t<double, py::array::c_style | py::array::forcecast>;

class SharedPredictor {
 public:
  SharedPredictor(const std::string& path, int64_t batch, const std::string& math_mode)
      : batch_(batch) {
    const py::gil_scoped_release released;
    PredictorOptions options = {.batch = batch};
    if (!SetMathMode(math_mode, options)) {
      throw StatusError{InvalidArgument("math_mode=", OneLine(math_mode, kShownBytes),
                                        ": must be one of: fp32, bf16, int8")};
    }
    predictor_ = Check(Predictor::Load(path, options));
  }

  const Predictor& predictor() const { return *predictor_; }
  const Graph& graph() const { return predictor_->model().graph; }

  // Values as training had them, before any normalisation: dense, in the network's order.
  py::array PredictValues(const py::array& x) const {
    const Shape& sample = graph().input_shape();
    Check(CheckSamples(x));
    CheckDense(x, {predictor_->model().dtype}, x.ndim());
    const size_t each = size_t(sample.NumElements());
    const Preprocessing& preprocessing = predictor_->model().preprocessing;
    const ImageExtents extents = sample.rank() == 3 ? ExtentsOf(sample, graph().format())
                                                    : ImageExtents{1, 1, int64_t(each)};
    const void* const data = x.data();
    return Predict(x.shape(0), [&, data](int64_t index, const Tensor& to, int64_t row) {
      DispatchFloating(to.dtype(), [&]<typename T>(T) {
        const std::span<T> place(to.data<T>() + size_t(row) * each, each);
        std::copy_n(static_cast<const T*>(data) + size_t(index) * each, each, place.begin());
        Normalize(preprocessing.normalization, extents, graph().format(), place);
        Normalize(preprocessing.then, extents, graph().format(), place);
      });
      return absl::OkStatus();
    });
  }

  // Images of any size: (n, height, width, channels) bytes, dense.
  py::array PredictImages(const py::array& images) const {
    CheckDense(images, {DType::kUint8}, 4);
    const ImageInput* const input = Check(predictor_->images());
    const ImageExtents extents = {
        .height = images.shape(1), .width = images.shape(2), .channels = images.shape(3)};
    if (extents.height < 1 || extents.width < 1 || extents.channels < 1 || extents.channels > 4 ||
        extents.width > kMaxImagePixels / extents.height) {
      throw StatusError{InvalidArgument("images of ", ToString(extents),
                                        ": expected at least 1 x 1 pixels, at most ",
                                        kMaxImagePixels,
                                        ", and 1 channel (grey), 3 (red, green, blue), or 2 or 4 "
                                        "(with alpha)")};
    }
    const size_t bytes = size_t(extents.height * extents.width * extents.channels);
    const auto* const data = static_cast<const uint8_t*>(images.data());
    return Predict(images.shape(0), [=](int64_t index, const Tensor& to, int64_t row) {
      const uint8_t* const begin = data + size_t(index) * bytes;
      return input->Convert({.extents = extents, .pixels = {begin, begin + bytes}}, to, row);
    });
  }

  // For each row of outputs what BestPredictions names.
  std::vector<std::vector<std::pair<py::str, double>>> Best(const Outputs& outputs,
                                                            int64_t top) const {
    std::vector<std::vector<std::pair<py::str, double>>> answers(size_t(outputs.shape(0)));
    const auto each = size_t(outputs.shape(1));
    for (size_t row = 0; row < answers.size(); ++row) {
      const std::span<const double> of_sample(outputs.data() + row * each, each);
      for (const Prediction& best : BestPredictions(*predictor_, of_sample, top)) {
        answers[row].emplace_back(Text(best.name), best.value);
      }
    }
    return answers;
  }

  py::array PredictFiles(const std::vector<std::string>& paths) const {
    const ImageInput* const input = Check(predictor_->images());
    return Predict(int64_t(paths.size()), [&](int64_t index, const Tensor& to, int64_t row) {
      return input->Read(paths[size_t(index)], to, row);
    });
  }

 private:
  absl::Status CheckSamples(const py::array& x) const {
    const Shape& sample = graph().input_shape();
    bool fits = x.ndim() == sample.rank() + 1;
    for (int i = 0; fits && i < sample.rank(); ++i) fits = x.shape(i + 1) == sample[i];
    if (fits) return absl::OkStatus();
    return InvalidArgument("model ", graph().name(), " takes samples of ", sample.ToString(), " (",
                           Name(graph().format()), "), as an array of ",
                           sample.Prepend(1).ToString(), " for one, not ", ShapeText(x));
  }

  // A row of outputs for each of n samples. All but the result is done without the GIL.
  py::array Predict(int64_t n, FillSample fill) const {
    const DType dtype = predictor_->model().dtype;
    const int64_t each = graph().output_shape().NumElements();
    py::array outputs(NumpyType(dtype), std::vector<py::ssize_t>{n, each});
    void* const to = outputs.mutable_data();
    absl::Status status;
    bool raised = false;
    {
      const py::gil_scoped_release released;
      SignalCheck signals;
      for (int64_t begin = 0; begin < n && status.ok() && !raised; begin += batch_) {
        raised = signals.Raised();
        if (!raised) status = PredictBatch(begin, std::min(batch_, n - begin), fill, to);
      }
    }
    if (raised) throw py::error_already_set();
    Check(status);
    return outputs;
  }

  absl::Status PredictBatch(int64_t begin, int64_t n, FillSample fill, void* outputs) const {
    DTNN_ASSIGN_OR_RETURN(const Tensor y, predictor_->PredictFilled(begin, n, fill));
    const size_t bytes = size_t(y.num_elements() / n) * SizeOf(y.dtype());  // of one
    std::memcpy(static_cast<std::byte*>(outputs) + size_t(begin) * bytes, y.raw_data(),
                size_t(n) * bytes);
    return absl::OkStatus();
  }

  const int64_t batch_;
  std::unique_ptr<Predictor> predictor_;
};

std::vector<py::str> ClassNames(const SharedPredictor& self) {
  std::vector<py::str> names;
  const int64_t outputs = self.graph().output_shape().NumElements();
  for (int64_t i = 0; i < outputs; ++i) names.push_back(Text(self.predictor().ClassName(i)));
  return names;
}

// Those of images that it is shown, and all others.
std::pair<std::vector<py::str>, std::vector<py::str>> WarningsOf(const SharedPredictor& self) {
  const bool of_values =
      self.predictor().model().preprocessing.input == Preprocessing::Input::kValues;
  std::pair<std::vector<py::str>, std::vector<py::str>> warnings;
  for (const std::string& line : self.predictor().warnings()) {
    const bool of_images = of_values && warnings.first.empty();  // comes first
    (of_images ? warnings.first : warnings.second).push_back(Text(line));
  }
  return warnings;
}

std::string_view KindOf(const SharedPredictor& self) {
  switch (self.predictor().output_kind()) {
    case OutputKind::kClasses:
      return "classes";
    case OutputKind::kLabels:
      return "labels";
    case OutputKind::kValues:
      break;
  }
  return "values";
}

}  // namespace

void BindPredictor(py::module_& module) {
  py::class_<SharedPredictor>(module, "Predictor")
      .def(py::init<const std::string&, int64_t, const std::string&>())
      .def("name", [](const SharedPredictor& self) { return Text(self.graph().name()); })
      .def("format", [](const SharedPredictor& self) { return Name(self.graph().format()); })
      .def("dtype",
           [](const SharedPredictor& self) { return NumpyType(self.predictor().model().dtype); })
      .def("input_shape",
           [](const SharedPredictor& self) { return ShapeTuple(self.graph().input_shape()); })
      .def("num_parameters",
           [](const SharedPredictor& self) { return self.graph().num_parameters(); })
      .def("kind", KindOf)
      .def("classes", ClassNames)
      .def("warnings", WarningsOf)
      .def("describe",
           [](const SharedPredictor& self) {
             return Text(FormatTable(self.graph(), self.predictor().model().dtype, Device::Cpu()));
           })
      .def("training",
           [](const SharedPredictor& self) {
             const ModelDescription& model = self.predictor().model().description;
             py::dict metrics;
             for (const auto& [name, value] : model.training.metrics) metrics[Text(name)] = value;
             py::dict record;
             record["dataset"] = Text(model.training.dataset);
             record["epochs"] = model.training.epochs;
             record["loss"] = Text(model.loss);
             record["optimizer"] = Text(model.training.optimizer);
             record["metrics"] = metrics;
             record["written_by"] = Text(model.written_by);
             return record;
           })
      .def("predict_values", &SharedPredictor::PredictValues)
      .def("predict_images", &SharedPredictor::PredictImages)
      .def("predict_files", &SharedPredictor::PredictFiles)
      .def("best", &SharedPredictor::Best);
}

}  // namespace dtnn::python
