#include "models/run/observe/run_subject.h"

#include "kernels/device/device_traits.h"
#include "tensor/text/counted.h"
#include "tensor/text/str_cat.h"
#include "tensor/threads/parallel_for.h"
#include "tensor/threads/processor_name.h"

namespace dtnn {

std::string DescribeRun(const RunSubject& run) {
  const Dataset& data = run.dataset;
  std::string text = StrCat(run.graph.name(), ", with ", run.graph.num_parameters(),
                            " parameters (", Name(ElementTypeOf(run.options)), "), learns ",
                            data.name(), ": ", run.loaders.training->samples(), " samples of ",
                            ToString(data.sample()), " to train on");
  if (run.loaders.validation != nullptr) {
    StrAppend(&text, ", ", run.loaders.validation->samples(), " to validate");
  }
  StrAppend(&text, ", ",
            data.target_kind() == TargetKind::kValues ? Counted(data.outputs(), "value")
                                                      : Counted(data.outputs(), "class", "classes"),
            data.target_kind() == TargetKind::kPixels ? " of pixels" : "", "; in batches of ",
            run.loaders.training->options().batch, ", with ", run.optimizer.name(), ".");
  return text;
}

std::string DescribeMachine(const RunSubject& run) {
  std::string text = StrCat(ProcessorName(), ", ", Counted(NumThreads(), "thread"));
  const std::string instructions = TraitsOf(run.device).instructions;
  StrAppend(&text, instructions.empty() ? ", and " + run.device.ToString()
                                        : StrCat(" (", instructions, ")"));
  if (run.ranks > 1) StrAppend(&text, " on each of ", run.ranks, " ranks");
  return text;
}

}  // namespace dtnn
