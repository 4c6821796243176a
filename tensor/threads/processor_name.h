// What the machine's processor is called, for reports: "AMD EPYC 7543 32-Core Processor".

#ifndef DTNN_TENSOR_THREADS_PROCESSOR_NAME_H_
#define DTNN_TENSOR_THREADS_PROCESSOR_NAME_H_

#include <string>

namespace dtnn {

// As Linux tells it; "unknown processor" where it does not.
std::string ProcessorName();

}  // namespace dtnn

#endif  // DTNN_TENSOR_THREADS_PROCESSOR_NAME_H_
