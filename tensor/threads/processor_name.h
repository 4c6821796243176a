// What the machine's processor is called, for reports: "AMD EPYC 7543 32-Core Processor".

#ifndef DTNN_TENSOR_THREADS_PROCESSOR_NAME_H_
#define DTNN_TENSOR_THREADS_PROCESSOR_NAME_H_

#include <string>

namespace dtnn {

// As Linux tells it; "unknown processor" where it does not.
std::string ProcessorName();

// Its maker, family and model, which tell processors apart that a virtual machine gives one name:
// "AuthenticAMD-25-17", of letters, digits, '-', '.' and '_'. "unknown" where Linux does not tell.
std::string ProcessorModel();

}  // namespace dtnn

#endif  // DTNN_TENSOR_THREADS_PROCESSOR_NAME_H_
