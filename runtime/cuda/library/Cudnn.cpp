//===- Cudnn.cpp - Open cuDNN ---------------------------------------------===//

#include "runtime/cuda/library/Cudnn.h"

using namespace frit;
using namespace frit::cuda;
using artifact::DType;

bool Cudnn::load() {
  if (!library.open(kCudnn))
    return false;
  bool complete =
      library.find(getVersion, "cudnnGetVersion") &
      library.find(create, "cudnnCreate") &
      library.find(destroy, "cudnnDestroy") &
      library.find(setStream, "cudnnSetStream") &
      library.find(tensorCreate, "cudnnCreateTensorDescriptor") &
      library.find(tensorDestroy, "cudnnDestroyTensorDescriptor") &
      library.find(tensorSet, "cudnnSetTensor4dDescriptor") &
      library.find(filterCreate, "cudnnCreateFilterDescriptor") &
      library.find(filterDestroy, "cudnnDestroyFilterDescriptor") &
      library.find(filterSet, "cudnnSetFilter4dDescriptor") &
      library.find(convolutionCreate, "cudnnCreateConvolutionDescriptor") &
      library.find(convolutionDestroy, "cudnnDestroyConvolutionDescriptor") &
      library.find(convolutionSet, "cudnnSetConvolution2dDescriptor") &
      library.find(convolutionSetGroups, "cudnnSetConvolutionGroupCount") &
      library.find(convolutionSetMath, "cudnnSetConvolutionMathType") &
      library.find(activationCreate, "cudnnCreateActivationDescriptor") &
      library.find(activationDestroy, "cudnnDestroyActivationDescriptor") &
      library.find(activationSet, "cudnnSetActivationDescriptor") &
      library.find(getAlgorithms, "cudnnGetConvolutionForwardAlgorithm_v7") &
      library.find(getWorkspaceSize,
                   "cudnnGetConvolutionForwardWorkspaceSize") &
      library.find(convolve, "cudnnConvolutionForward") &
      library.find(convolveFused, "cudnnConvolutionBiasActivationForward") &
      library.find(descriptorCreate, "cudnnBackendCreateDescriptor") &
      library.find(descriptorDestroy, "cudnnBackendDestroyDescriptor") &
      library.find(descriptorSet, "cudnnBackendSetAttribute") &
      library.find(descriptorGet, "cudnnBackendGetAttribute") &
      library.find(descriptorFinalize, "cudnnBackendFinalize") &
      library.find(execute, "cudnnBackendExecute");
  if (!complete)
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

CudnnHandle::~CudnnHandle() {
  gradients.clear();
  attentions.clear();
  if (handle)
    dnn.handles->give(handle);
}
