// Files of models made of others: what the programs import, export and quantize do.

#include <pybind11/stl.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_join.h"
#include "apps/conversion/export_model.h"
#include "apps/conversion/import_model.h"
#include "apps/conversion/import_weights.h"
#include "apps/conversion/quantize_model.h"
#include "apps/flags/help.h"
#include "apps/program/other_file.h"
#include "apps/python/bindings.h"
#include "apps/python/data.h"
#include "apps/python/errors.h"
#include "apps/python/keywords.h"
#include "data/datasets/class_list.h"
#include "tensor/errors.h"
#include "tensor/files/input_file.h"

namespace dtnn::python {
namespace py = pybind11;
namespace {

// `path`: what must be a model. For files of which one is made first, the function that does.
absl::Status CheckIsModel(const std::string& path) {
  const std::string kind = ImportableKind(path);
  if (kind.empty()) return absl::OkStatus();
  DTNN_RETURN_IF_ERROR(InputFile::Open(path).status());
  return InvalidArgument(
      path, ": ", kind, "; dtnn.", path.ends_with(".onnx") ? "import_onnx" : "import_weights",
      " makes a model of it", path.ends_with(".npz") ? ", saved as .safetensors" : "");
}

// Does `work(flags, out)` without the GIL, with those options set, and returns what it says.
// Messages name its options as keywords.
template <typename Flags, typename Work>
py::str Convert(Flags& flags, const Keywords& keywords, Work work) {
  std::ostringstream out;
  {
    const py::gil_scoped_release released;
    const std::vector<OptionSpec> options = OptionsOf(flags);
    Check(SetKeywords(keywords, options));
    Check(CheckIsModel(flags.model));
    Check(WithKeywords(work(flags, out), options));
  }
  return Text(out.str());
}

// `names`: of classes; or none, where an option names their file.
py::str ImportModel(const std::string& in, const std::string& out, const Keywords& keywords,
                    const std::vector<std::string>& names, bool weights) {
  ImportFlags flags = {.in = in, .out = out};
  if (!names.empty()) {
    flags.names = Check(ParseClassFile(absl::StrJoin(names, "\n"), "class_names"));
    if (flags.names.size() != names.size()) {
      throw StatusError{InvalidArgument("class_names: a name contains a line break, or is empty")};
    }
  }
  if (weights != IsWeights(in)) {
    throw StatusError{InvalidArgument(
        in, ": has ", weights ? "a network of its own" : "weights alone", ", by its name; dtnn.",
        weights ? "import_onnx" : "import_weights", " reads such files")};
  }
  return Convert(flags, keywords, ImportModelFile);
}

py::str Export(const std::string& model, const std::string& out, const Keywords& keywords) {
  ExportFlags flags = {.model = model, .out = out};
  return Convert(flags, keywords, ExportToOnnx);
}

// `dataset`: null, where an option names one or a folder.
py::str QuantizeFile(const std::string& model, const std::string& out, const Keywords& keywords,
                     const SharedDataset* dataset) {
  QuantizeFlags flags = {.model = model, .out = out};
  if (dataset != nullptr) {
    flags.dataset = dataset->data;
    flags.calibrate = std::string(dataset->data->name());
  }
  return Convert(flags, keywords, QuantizeModel);
}

// Rows of the options of a program.
py::list OptionsOfProgram(std::string_view program) {
  ImportFlags import_flags;
  ExportFlags export_flags = {.model = "", .out = ""};
  QuantizeFlags quantize_flags = {.model = "", .out = ""};
  const std::vector<OptionSpec> options = program == "import"   ? OptionsOf(import_flags)
                                          : program == "export" ? OptionsOf(export_flags)
                                                                : OptionsOf(quantize_flags);
  const auto find = [&](std::string_view name) {
    const auto found = std::ranges::find(options, name, &OptionSpec::name);
    return found == options.end() ? nullptr : &*found;
  };
  py::list rows;
  for (const OptionSpec& option : options) {
    rows.append(KeywordRow(option, "Options", NameKeywords(HelpWithList(option), find)));
  }
  return rows;
}

}  // namespace

void BindConversion(py::module_& module) {
  module.def("options_of", OptionsOfProgram);
  module.def("check_keywords",
             [](const std::vector<std::string>& names, const std::vector<std::string>& taken) {
               Check(CheckKeywords(names, taken));
             });
  module.def("import_model", ImportModel);
  module.def("export_onnx", Export);
  module.def("quantize", QuantizeFile);
}

}  // namespace dtnn::python
