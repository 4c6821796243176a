#include "apps/python/data.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_replace.h"
#include "apps/python/bindings.h"
#include "apps/python/errors.h"
#include "apps/python/keywords.h"
#include "apps/python/numpy_types.h"
#include "data/datasets/arrays/array_dataset.h"
#include "models/run/samples/make_dataset.h"
#include "tensor/errors.h"

namespace dtnn::python {
namespace py = pybind11;
namespace {

// The array, until the data set lets go of it, in whichever thread.
std::shared_ptr<const void> Keep(const py::array& array) {
  return {array.inc_ref().ptr(), [](const void* kept) {
            if (!Py_IsInitialized()) return;  // the process ends
            const py::gil_scoped_acquire held;
            py::handle(static_cast<PyObject*>(const_cast<void*>(kept))).dec_ref();
          }};
}

// x: (n, sample) of uint8, float32 or float64. y: (n,) or (n, height, width) of int32, or
// (n, outputs) of float64. All dense.
SampleArrays ArraysOf(const std::optional<std::pair<py::array, py::array>>& split) {
  SampleArrays arrays;
  if (!split) return arrays;
  const auto& [x, y] = *split;
  arrays.size = x.shape(0);
  arrays.x = x.data();
  arrays.owner = Keep(x);
  if (y.ndim() != 2) {
    const auto* classes = static_cast<const int32_t*>(y.data());
    arrays.classes.assign(classes, classes + y.size());
  } else {
    const auto* values = static_cast<const double*>(y.data());
    arrays.values.assign(values, values + y.size());
  }
  return arrays;
}

// Both splits have the same extents per sample.
void CheckRows(const py::array& array, const py::array& other) {
  if (std::equal(array.shape() + 1, array.shape() + array.ndim(), other.shape() + 1)) return;
  throw StatusError{InvalidArgument("an array of shape ", ShapeText(array), " beside one of shape ",
                                    ShapeText(other),
                                    ": expected the same extents for each sample")};
}

SharedDataset MakeArrays(const std::optional<std::pair<py::array, py::array>>& train,
                         const std::optional<std::pair<py::array, py::array>>& test, bool planes,
                         int64_t classes, std::vector<std::string> class_names, std::string name) {
  const auto& [x, y] = train ? *train : test.value();
  ArrayOptions options = {.format = planes ? TensorFormat::kNCHW : TensorFormat::kNHWC,
                          .targets = y.ndim() == 1   ? TargetKind::kClass
                                     : y.ndim() == 2 ? TargetKind::kValues
                                                     : TargetKind::kPixels,
                          .outputs = y.ndim() == 2 ? y.shape(1) : classes,
                          .class_names = std::move(class_names),
                          .name = std::move(name)};
  options.dtype = CheckDense(x, {DType::kUint8, DType::kFloat32, DType::kFloat64}, 4);
  options.sample = ExtentsOf(Shape{x.shape(1), x.shape(2), x.shape(3)}, options.format);
  if (y.ndim() == 3 &&
      (y.shape(1) != options.sample.height || y.shape(2) != options.sample.width)) {
    throw StatusError{InvalidArgument("y is an array of shape ", ShapeText(y),
                                      ": expected a class for each of ", options.sample.height,
                                      " x ", options.sample.width, " pixels")};
  }
  for (const auto* split : {&train, &test}) {
    if (!*split) continue;
    CheckDense((*split)->first, {options.dtype}, 4);
    CheckDense((*split)->second, {y.ndim() == 2 ? DType::kFloat64 : DType::kInt32}, y.ndim());
    CheckRows((*split)->first, x);
    CheckRows((*split)->second, y);
  }
  SampleArrays of_train = ArraysOf(train), of_test = ArraysOf(test);
  const py::gil_scoped_release released;
  return {Check(MakeArrayDataset(std::move(of_train), std::move(of_test), std::move(options)))};
}

SharedDataset OpenNamed(const Keywords& keywords) {
  const py::gil_scoped_release released;
  Options options = Check(OptionsOf(keywords));
  const std::string others = GivenKeywords(options, [](const OptionSpec& option) {
    // Generated samples follow the seed; some data sets the size that a network takes.
    return !SaysWhatIsRead(option) && option.path != "data.name" &&
           option.path != "training.seed" && option.path != "network.name";
  });
  if (!others.empty()) {
    throw StatusError{InvalidArgument(others,
                                      ": not for open_dataset, which takes what says how "
                                      "files are read; give the rest to dtnn.Run")};
  }
  options.training.evaluate = true;  // reads the test split too
  absl::StatusOr<std::shared_ptr<const Dataset>> made = MakeDataset(options);
  if (made.ok()) return {*std::move(made)};
  throw StatusError{absl::Status(
      made.status().code(),
      absl::StrReplaceAll(made.status().message(), {{"RunOptions::data.path: ", "path: "}}))};
}

}  // namespace

void BindData(py::module_& module) {
  py::class_<SharedDataset>(module, "Dataset")
      .def("name", [](const SharedDataset& self) { return Text(self.data->name()); })
      .def("sample",
           [](const SharedDataset& self) {
             const ImageExtents sample = self.data->sample();
             return py::make_tuple(sample.height, sample.width, sample.channels);
           })
      .def("outputs", [](const SharedDataset& self) { return self.data->outputs(); })
      .def("has_classes",
           [](const SharedDataset& self) { return self.data->target_kind() == TargetKind::kClass; })
      .def(
          "has_pixels",
          [](const SharedDataset& self) { return self.data->target_kind() == TargetKind::kPixels; })
      .def("class_names",
           [](const SharedDataset& self) {
             std::vector<py::str> names;
             for (const std::string& name : self.data->class_names()) names.push_back(Text(name));
             return names;
           })
      .def("sizes", [](const SharedDataset& self) {
        return py::make_tuple(self.data->size(Split::kTrain), self.data->size(Split::kTest));
      });
  module.def("arrays", &MakeArrays);
  module.def("open_dataset", &OpenNamed);
}

}  // namespace dtnn::python
