// Whether a trace or a profile can be written under a name, and over what is there
// (tensor/files/output_file.h): for programs, before what is traced begins.

#ifndef DTNN_MODELS_OBSERVE_TRACE_TRACE_OUTPUT_H_
#define DTNN_MODELS_OBSERVE_TRACE_TRACE_OUTPUT_H_

#include <string_view>

#include "absl/status/status.h"

namespace dtnn {

// All files of the trace, in the format that the name says (trace_form.h): for Paraver three.
// `watts`: also that of the power samples beside a table of calls.
absl::Status CheckTraceOutput(std::string_view path, bool watts = false);

absl::Status CheckProfileOutput(std::string_view path);

}  // namespace dtnn

#endif  // DTNN_MODELS_OBSERVE_TRACE_TRACE_OUTPUT_H_
