#include "models/observe/trace/trace_output.h"

#include <string>

#include "models/observe/trace/paraver.h"
#include "models/observe/trace/trace_form.h"
#include "tensor/errors.h"
#include "tensor/files/output_file.h"

namespace dtnn {
namespace {

bool Contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

absl::Status CheckParaver(std::string_view path) {
  const auto check = [](std::string_view file, IsOfKind is_of_kind) {
    return CheckOutputFile(file, "a trace for Paraver", is_of_kind);
  };
  DTNN_RETURN_IF_ERROR(check(path, [](std::string_view start) {
    return start.starts_with("#Paraver (") && Contains(start.substr(0, start.find('\n')), "_ns:");
  }));
  // Other tracers' records begin alike; the files beside them do not.
  DTNN_RETURN_IF_ERROR(check(ParaverWriter::LegendOf(path), [](std::string_view start) {
    return start.starts_with("DEFAULT_OPTIONS\n") &&
           Contains(start, "    Model\nVALUES\n0      End\n");
  }));
  return check(ParaverWriter::RowsOf(path), [](std::string_view start) {
    return start.starts_with("LEVEL CPU SIZE ") && Contains(start, "\nrank 0\n");
  });
}

}  // namespace

absl::Status CheckTraceOutput(std::string_view path, bool watts) {
  switch (TraceFormOf(path).value_or(TraceForm::kSimple)) {
    case TraceForm::kParaver:
      return CheckParaver(path);
    case TraceForm::kChrome:
      return CheckOutputFile(path, "a trace", [](std::string_view start) {
        return start.starts_with(
            "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"
            "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":");
      });
    case TraceForm::kSimple:
      break;
  }
  DTNN_RETURN_IF_ERROR(CheckOutputFile(path, "a trace", [](std::string_view start) {
    return start.starts_with("Event type;Event value;Event name;Calls;Total time;Median of times");
  }));
  if (!watts) return absl::OkStatus();
  return CheckOutputFile(StrCat(path, ".watts"), "a file of watts",
                         [](std::string_view start) { return start.starts_with("Time;Watts"); });
}

absl::Status CheckProfileOutput(std::string_view path) {
  const bool json = ProfileFormOf(path) == ProfileForm::kJson;
  return CheckOutputFile(path, "a profile", [json](std::string_view start) {
    return json ? start.starts_with("{\"steps\": ") && Contains(start, "\"predicted_seconds\": ")
                : start.starts_with("name,type,forward_seconds,backward_seconds,");
  });
}

}  // namespace dtnn
