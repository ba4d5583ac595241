! minnow for Fortran: the functions of minnow_c.h, which explains them, by iso_c_binding.  Compile it with your program.
!
! Handles are type(c_ptr), passed by value, and texts end with c_null_char: "net.onnx" // c_null_char.  A shape is given
! as in C: the last dimension is the one whose elements are neighbours, so that a(3, 2) of Fortran has the shape [2, 3].
module minnow
  use, intrinsic :: iso_c_binding
  implicit none
  public

  enum, bind(c)
    enumerator :: minnow_ok = 0, minnow_shape_error, minnow_dtype_error, minnow_device_error, minnow_index_error, &
      minnow_value_error, minnow_autograd_error, minnow_format_error, minnow_io_error, minnow_memory_error, &
      minnow_backend_error, minnow_other_error
  end enum
  enum, bind(c)
    enumerator :: minnow_float32 = 0, minnow_float64, minnow_float16, minnow_bfloat16, minnow_int64, minnow_int32, &
      minnow_int16, minnow_int8, minnow_uint8, minnow_bool
  end enum

  interface
    function minnow_version() bind(c, name="minnow_version")
      import
      type(c_ptr) :: minnow_version
    end function minnow_version
    function minnow_last_error_address() bind(c, name="minnow_last_error")
      import
      type(c_ptr) :: minnow_last_error_address
    end function minnow_last_error_address
    function minnow_last_error_line() bind(c, name="minnow_last_error_line")
      import
      integer(c_int) :: minnow_last_error_line
    end function minnow_last_error_line
    function minnow_live_handles() bind(c, name="minnow_live_handles")
      import
      integer(c_size_t) :: minnow_live_handles
    end function minnow_live_handles
    function minnow_manual_seed(seed) bind(c, name="minnow_manual_seed")
      import
      integer(c_int) :: minnow_manual_seed
      integer(c_int64_t), value :: seed
    end function minnow_manual_seed
    function minnow_set_num_threads(threads) bind(c, name="minnow_set_num_threads")
      import
      integer(c_int) :: minnow_set_num_threads
      integer(c_int), value :: threads
    end function minnow_set_num_threads
    function minnow_device_count(type, count) bind(c, name="minnow_device_count")
      import
      integer(c_int) :: minnow_device_count
      character(kind=c_char), dimension(*), intent(in) :: type
      integer(c_int), intent(out) :: count
    end function minnow_device_count
    function minnow_set_grad_enabled(on) bind(c, name="minnow_set_grad_enabled")
      import
      integer(c_int) :: minnow_set_grad_enabled
      integer(c_int), value :: on
    end function minnow_set_grad_enabled
    function minnow_tensor_new(data, dtype, ndim, shape, result) bind(c, name="minnow_tensor_new")
      import
      integer(c_int) :: minnow_tensor_new
      type(c_ptr), value :: data
      integer(c_int), value :: dtype
      integer(c_int), value :: ndim
      integer(c_int64_t), dimension(*), intent(in) :: shape
      type(c_ptr), intent(out) :: result
    end function minnow_tensor_new
    function minnow_tensor_view(data, dtype, ndim, shape, deleter, context, result) bind(c, name="minnow_tensor_view")
      import
      integer(c_int) :: minnow_tensor_view
      type(c_ptr), value :: data
      integer(c_int), value :: dtype
      integer(c_int), value :: ndim
      integer(c_int64_t), dimension(*), intent(in) :: shape
      type(c_funptr), value :: deleter
      type(c_ptr), value :: context
      type(c_ptr), intent(out) :: result
    end function minnow_tensor_view
    subroutine minnow_tensor_free(tensor) bind(c, name="minnow_tensor_free")
      import
      type(c_ptr), value :: tensor
    end subroutine minnow_tensor_free
    function minnow_tensor_dtype(tensor, dtype) bind(c, name="minnow_tensor_dtype")
      import
      integer(c_int) :: minnow_tensor_dtype
      type(c_ptr), value :: tensor
      integer(c_int), intent(out) :: dtype
    end function minnow_tensor_dtype
    function minnow_tensor_ndim(tensor, ndim) bind(c, name="minnow_tensor_ndim")
      import
      integer(c_int) :: minnow_tensor_ndim
      type(c_ptr), value :: tensor
      integer(c_int), intent(out) :: ndim
    end function minnow_tensor_ndim
    function minnow_tensor_shape(tensor, shape, capacity) bind(c, name="minnow_tensor_shape")
      import
      integer(c_int) :: minnow_tensor_shape
      type(c_ptr), value :: tensor
      integer(c_int64_t), dimension(*), intent(out) :: shape
      integer(c_int), value :: capacity
    end function minnow_tensor_shape
    function minnow_tensor_numel(tensor, numel) bind(c, name="minnow_tensor_numel")
      import
      integer(c_int) :: minnow_tensor_numel
      type(c_ptr), value :: tensor
      integer(c_int64_t), intent(out) :: numel
    end function minnow_tensor_numel
    function minnow_tensor_device(tensor, device) bind(c, name="minnow_tensor_device")
      import
      integer(c_int) :: minnow_tensor_device
      type(c_ptr), value :: tensor
      type(c_ptr), intent(out) :: device
    end function minnow_tensor_device
    function minnow_tensor_data(tensor, data) bind(c, name="minnow_tensor_data")
      import
      integer(c_int) :: minnow_tensor_data
      type(c_ptr), value :: tensor
      type(c_ptr), intent(out) :: data
    end function minnow_tensor_data
    function minnow_tensor_copy_out(tensor, memory, bytes) bind(c, name="minnow_tensor_copy_out")
      import
      integer(c_int) :: minnow_tensor_copy_out
      type(c_ptr), value :: tensor
      type(c_ptr), value :: memory
      integer(c_size_t), value :: bytes
    end function minnow_tensor_copy_out
    function minnow_tensor_item(tensor, value) bind(c, name="minnow_tensor_item")
      import
      integer(c_int) :: minnow_tensor_item
      type(c_ptr), value :: tensor
      real(c_double), intent(out) :: value
    end function minnow_tensor_item
    function minnow_tensor_to(tensor, device, result) bind(c, name="minnow_tensor_to")
      import
      integer(c_int) :: minnow_tensor_to
      type(c_ptr), value :: tensor
      character(kind=c_char), dimension(*), intent(in) :: device
      type(c_ptr), intent(out) :: result
    end function minnow_tensor_to
    function minnow_tensor_to_dtype(tensor, dtype, result) bind(c, name="minnow_tensor_to_dtype")
      import
      integer(c_int) :: minnow_tensor_to_dtype
      type(c_ptr), value :: tensor
      integer(c_int), value :: dtype
      type(c_ptr), intent(out) :: result
    end function minnow_tensor_to_dtype
    function minnow_tensor_backward(loss) bind(c, name="minnow_tensor_backward")
      import
      integer(c_int) :: minnow_tensor_backward
      type(c_ptr), value :: loss
    end function minnow_tensor_backward
    function minnow_tensor_grad(tensor, grad) bind(c, name="minnow_tensor_grad")
      import
      integer(c_int) :: minnow_tensor_grad
      type(c_ptr), value :: tensor
      type(c_ptr), intent(out) :: grad
    end function minnow_tensor_grad
    function minnow_module_load(path, result) bind(c, name="minnow_module_load")
      import
      integer(c_int) :: minnow_module_load
      character(kind=c_char), dimension(*), intent(in) :: path
      type(c_ptr), intent(out) :: result
    end function minnow_module_load
    subroutine minnow_module_free(module) bind(c, name="minnow_module_free")
      import
      type(c_ptr), value :: module
    end subroutine minnow_module_free
    function minnow_module_num_inputs(module, count) bind(c, name="minnow_module_num_inputs")
      import
      integer(c_int) :: minnow_module_num_inputs
      type(c_ptr), value :: module
      integer(c_int), intent(out) :: count
    end function minnow_module_num_inputs
    function minnow_module_num_outputs(module, count) bind(c, name="minnow_module_num_outputs")
      import
      integer(c_int) :: minnow_module_num_outputs
      type(c_ptr), value :: module
      integer(c_int), intent(out) :: count
    end function minnow_module_num_outputs
    function minnow_module_input_name(module, index, name) bind(c, name="minnow_module_input_name")
      import
      integer(c_int) :: minnow_module_input_name
      type(c_ptr), value :: module
      integer(c_int), value :: index
      type(c_ptr), intent(out) :: name
    end function minnow_module_input_name
    function minnow_module_output_name(module, index, name) bind(c, name="minnow_module_output_name")
      import
      integer(c_int) :: minnow_module_output_name
      type(c_ptr), value :: module
      integer(c_int), value :: index
      type(c_ptr), intent(out) :: name
    end function minnow_module_output_name
    function minnow_module_forward(module, inputs, num_inputs, outputs, num_outputs) &
      bind(c, name="minnow_module_forward")
      import
      integer(c_int) :: minnow_module_forward
      type(c_ptr), value :: module
      type(c_ptr), dimension(*), intent(in) :: inputs
      integer(c_int), value :: num_inputs
      type(c_ptr), dimension(*), intent(out) :: outputs
      integer(c_int), value :: num_outputs
    end function minnow_module_forward
    function minnow_module_train(module, on) bind(c, name="minnow_module_train")
      import
      integer(c_int) :: minnow_module_train
      type(c_ptr), value :: module
      integer(c_int), value :: on
    end function minnow_module_train
    function minnow_module_to(module, device) bind(c, name="minnow_module_to")
      import
      integer(c_int) :: minnow_module_to
      type(c_ptr), value :: module
      character(kind=c_char), dimension(*), intent(in) :: device
    end function minnow_module_to
    function minnow_module_num_parameters(module, count) bind(c, name="minnow_module_num_parameters")
      import
      integer(c_int) :: minnow_module_num_parameters
      type(c_ptr), value :: module
      integer(c_int), intent(out) :: count
    end function minnow_module_num_parameters
    function minnow_module_parameter_name(module, index, name) bind(c, name="minnow_module_parameter_name")
      import
      integer(c_int) :: minnow_module_parameter_name
      type(c_ptr), value :: module
      integer(c_int), value :: index
      type(c_ptr), intent(out) :: name
    end function minnow_module_parameter_name
    function minnow_module_parameter(module, name, result) bind(c, name="minnow_module_parameter")
      import
      integer(c_int) :: minnow_module_parameter
      type(c_ptr), value :: module
      character(kind=c_char), dimension(*), intent(in) :: name
      type(c_ptr), intent(out) :: result
    end function minnow_module_parameter
    function minnow_module_save(module, path) bind(c, name="minnow_module_save")
      import
      integer(c_int) :: minnow_module_save
      type(c_ptr), value :: module
      character(kind=c_char), dimension(*), intent(in) :: path
    end function minnow_module_save
    function minnow_module_load_weights(module, path) bind(c, name="minnow_module_load_weights")
      import
      integer(c_int) :: minnow_module_load_weights
      type(c_ptr), value :: module
      character(kind=c_char), dimension(*), intent(in) :: path
    end function minnow_module_load_weights
    function minnow_loss(name, x, target, result) bind(c, name="minnow_loss")
      import
      integer(c_int) :: minnow_loss
      character(kind=c_char), dimension(*), intent(in) :: name
      type(c_ptr), value :: x
      type(c_ptr), value :: target
      type(c_ptr), intent(out) :: result
    end function minnow_loss
    function minnow_optimizer_new(module, name, lr, weight_decay, result) bind(c, name="minnow_optimizer_new")
      import
      integer(c_int) :: minnow_optimizer_new
      type(c_ptr), value :: module
      character(kind=c_char), dimension(*), intent(in) :: name
      real(c_double), value :: lr
      real(c_double), value :: weight_decay
      type(c_ptr), intent(out) :: result
    end function minnow_optimizer_new
    subroutine minnow_optimizer_free(optimizer) bind(c, name="minnow_optimizer_free")
      import
      type(c_ptr), value :: optimizer
    end subroutine minnow_optimizer_free
    function minnow_optimizer_step(optimizer) bind(c, name="minnow_optimizer_step")
      import
      integer(c_int) :: minnow_optimizer_step
      type(c_ptr), value :: optimizer
    end function minnow_optimizer_step
    function minnow_optimizer_zero_grad(optimizer) bind(c, name="minnow_optimizer_zero_grad")
      import
      integer(c_int) :: minnow_optimizer_zero_grad
      type(c_ptr), value :: optimizer
    end function minnow_optimizer_zero_grad
    function minnow_optimizer_set_lr(optimizer, lr) bind(c, name="minnow_optimizer_set_lr")
      import
      integer(c_int) :: minnow_optimizer_set_lr
      type(c_ptr), value :: optimizer
      real(c_double), value :: lr
    end function minnow_optimizer_set_lr
    function minnow_optimizer_set_momentum(optimizer, momentum) bind(c, name="minnow_optimizer_set_momentum")
      import
      integer(c_int) :: minnow_optimizer_set_momentum
      type(c_ptr), value :: optimizer
      real(c_double), value :: momentum
    end function minnow_optimizer_set_momentum
  end interface

contains

  !> A text of C.
  function minnow_text(address) result(text)
    type(c_ptr), intent(in) :: address
    character(:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    integer :: n
    interface
      pure function strlen(text) bind(c, name="strlen")
        import
        type(c_ptr), value, intent(in) :: text
        integer(c_size_t) :: strlen
      end function strlen
    end interface
    if (.not. c_associated(address)) then
      text = ""
      return
    end if
    call c_f_pointer(address, letters, [strlen(address)])
    allocate (character(size(letters)) :: text)
    do n = 1, size(letters)
      text(n:n) = letters(n)
    end do
  end function minnow_text

  !> The text of this thread's last error.
  function minnow_last_error() result(text)
    character(:), allocatable :: text
    text = minnow_text(minnow_last_error_address())
  end function minnow_last_error

end module minnow
