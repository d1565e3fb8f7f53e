//===- Cudnn.cpp - Open cuDNN ---------------------------------------------===//

#include "runtime/cuda/library/Cudnn.h"

using namespace frit;
using namespace frit::cuda;
using artifact::DType;

bool Cudnn::load() {
  if (!library.open(kCudnn) ||
      !library.find(
          {{getVersion, "cudnnGetVersion"},
           {create, "cudnnCreate"},
           {destroy, "cudnnDestroy"},
           {setStream, "cudnnSetStream"},
           {tensorCreate, "cudnnCreateTensorDescriptor"},
           {tensorDestroy, "cudnnDestroyTensorDescriptor"},
           {tensorSet, "cudnnSetTensor4dDescriptor"},
           {filterCreate, "cudnnCreateFilterDescriptor"},
           {filterDestroy, "cudnnDestroyFilterDescriptor"},
           {filterSet, "cudnnSetFilter4dDescriptor"},
           {convolutionCreate, "cudnnCreateConvolutionDescriptor"},
           {convolutionDestroy, "cudnnDestroyConvolutionDescriptor"},
           {convolutionSet, "cudnnSetConvolution2dDescriptor"},
           {convolutionSetGroups, "cudnnSetConvolutionGroupCount"},
           {convolutionSetMath, "cudnnSetConvolutionMathType"},
           {activationCreate, "cudnnCreateActivationDescriptor"},
           {activationDestroy, "cudnnDestroyActivationDescriptor"},
           {activationSet, "cudnnSetActivationDescriptor"},
           {getAlgorithms, "cudnnGetConvolutionForwardAlgorithm_v7"},
           {getWorkspaceSize, "cudnnGetConvolutionForwardWorkspaceSize"},
           {convolve, "cudnnConvolutionForward"},
           {convolveFused, "cudnnConvolutionBiasActivationForward"},
           {descriptorCreate, "cudnnBackendCreateDescriptor"},
           {descriptorDestroy, "cudnnBackendDestroyDescriptor"},
           {descriptorSet, "cudnnBackendSetAttribute"},
           {descriptorGet, "cudnnBackendGetAttribute"},
           {descriptorFinalize, "cudnnBackendFinalize"},
           {execute, "cudnnBackendExecute"}}))
    return false;
  version = getVersion();
  return version >= 90000;
}

bool frit::cuda::isHalf(DType type) {
  return type == DType::f16 || type == DType::bf16;
}

int frit::cuda::dnnTypeOf(DType type) {
  return type == DType::f32   ? kDnnFloat
         : type == DType::f16 ? kDnnHalf
                              : kDnnBfloat16;
}

std::unique_ptr<CudnnHandle>
CudnnHandle::open(const Cudnn &dnn, CudnnHandles &handles, const Api &driver) {
  DnnHandle handle = handles.take();
  if (!handle)
    return nullptr;
  return std::unique_ptr<CudnnHandle>(
      new CudnnHandle(dnn, handles, driver, handle));
}

CudnnHandle::~CudnnHandle() {
  gradients.clear();
  attentions.clear();
  handles.give(handle);
}
